"""Sphinx's configuration: `make docs` builds the pages into build/docs, to be read as files."""

from importlib.metadata import version as installed_version

project = "ivm"
author = "the ivm authors"
copyright = author
version = release = installed_version("ivm-engine")

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
exclude_patterns = ["README.md"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
nb_execution_mode = "cache"
nb_execution_cache_path = "../build/notebooks"
nb_execution_raise_on_error = True
nb_execution_timeout = 120

default_role = "code"  # what stands between single backticks in a docstring
smartquotes_action = "D"  # dashes; quotes are straight where code has them

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
napoleon_google_docstring = True

html_theme = "furo"
html_title = "ivm"
html_static_path = ["static"]
html_css_files = ["wide.css"]
html_copy_source = False
html_show_sphinx = False

# Of a dialogue with a prompt, what was typed.
copybutton_prompt_text = r"ivm> |\.\.\.> "
copybutton_prompt_is_regexp = True
