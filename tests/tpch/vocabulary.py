"""The words that TPC-H's generator makes its columns of (specification, sections 4.2.2.13 and 4.2.3)."""

from __future__ import annotations

REGIONS = ("AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST")
_NATIONS_OF = {
    "AFRICA": ("ALGERIA", "ETHIOPIA", "KENYA", "MOROCCO", "MOZAMBIQUE"),
    "AMERICA": ("ARGENTINA", "BRAZIL", "CANADA", "PERU", "UNITED STATES"),
    "ASIA": ("INDIA", "INDONESIA", "JAPAN", "CHINA", "VIETNAM"),
    "EUROPE": ("FRANCE", "GERMANY", "ROMANIA", "RUSSIA", "UNITED KINGDOM"),
    "MIDDLE EAST": ("EGYPT", "IRAN", "IRAQ", "JORDAN", "SAUDI ARABIA"),
}
NATIONS = {nation: region for region, nations in _NATIONS_OF.items() for nation in nations}
"""Each nation with its region."""

SEGMENTS = ("AUTOMOBILE", "BUILDING", "FURNITURE", "MACHINERY", "HOUSEHOLD")
MODES = ("REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB")
TYPES = tuple(
    f"{size} {finish} {metal}"
    for size in ("STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO")
    for finish in ("ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED")
    for metal in ("TIN", "NICKEL", "BRASS", "STEEL", "COPPER")
)
"""Types of parts."""

CONTAINERS = tuple(
    f"{size} {form}"
    for size in ("SM", "LG", "MED", "JUMBO", "WRAP")
    for form in ("CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM")
)
_COLORS = """
    almond antique aquamarine azure beige bisque black blanched blue blush brown burlywood burnished chartreuse chiffon
    chocolate coral cornflower cornsilk cream cyan dark deep dim dodger drab firebrick floral forest frosted gainsboro
    ghost goldenrod green grey honeydew hot indian ivory khaki lace lavender lawn lemon light lime linen magenta maroon
    medium metallic midnight mint misty moccasin navajo navy olive orange orchid pale papaya peach peru pink plum powder
    puff purple red rose rosy royal saddle salmon sandy seashell sienna sky slate smoke snow spring steel tan thistle
    tomato turquoise violet wheat white yellow
"""
COLORS = tuple(_COLORS.split())
"""Words of the names of parts."""
