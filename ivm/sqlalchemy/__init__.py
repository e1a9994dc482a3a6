"""SQLAlchemy's dialects for databases of ours: `ivm:///shop.ivm` in this process, `ivm+psycopg://user@host:port/db` by
a server's door of Postgres's protocol. SQLAlchemy finds them by the entry points of the package.
"""
