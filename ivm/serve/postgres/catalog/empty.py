"""Relations of pg_catalog in which there is nothing here, with the columns that clients ask for."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

_KINDS = {
    "o": pa.int64(),
    "i": pa.int32(),
    "b": pa.bool_(),
    "t": pa.string(),
    "f": pa.float64(),
    "a": pa.list_(pa.int64()),
    "l": pa.list_(pa.string()),
}
_COLUMNS = {
    "pg_aggregate": "o:aggfnoid t:aggkind",
    "pg_auth_members": "o:roleid o:member o:grantor b:admin_option",
    "pg_cast": "o:oid o:castsource o:casttarget o:castfunc t:castcontext t:castmethod",
    "pg_conversion": "o:oid t:conname o:connamespace o:conowner i:conforencoding i:contoencoding o:conproc "
    "b:condefault",
    "pg_db_role_setting": "o:setdatabase o:setrole l:setconfig",
    "pg_event_trigger": "o:oid t:evtname t:evtevent o:evtowner o:evtfoid t:evtenabled a:evttags",
    "pg_extension": "o:oid t:extname o:extowner o:extnamespace b:extrelocatable t:extversion a:extconfig",
    "pg_foreign_data_wrapper": "o:oid t:fdwname o:fdwowner o:fdwhandler o:fdwvalidator l:fdwacl l:fdwoptions",
    "pg_foreign_server": "o:oid t:srvname o:srvowner o:srvfdw t:srvtype t:srvversion t:srvoptions",
    "pg_foreign_table": "o:ftrelid o:ftserver t:ftoptions",
    "pg_inherits": "o:inhrelid o:inhparent i:inhseqno b:inhdetachpending",
    "pg_language": "o:oid t:lanname o:lanowner b:lanispl b:lanpltrusted o:lanplcallfoid o:laninline "
    "o:lanvalidator l:lanacl",
    "pg_locks": "t:locktype o:database o:relation i:pid t:mode b:granted",
    "pg_opclass": "o:oid o:opcmethod t:opcname o:opcnamespace o:opcintype b:opcdefault o:opckeytype o:opcfamily",
    "pg_operator": "o:oid t:oprname o:oprnamespace o:oprleft o:oprright o:oprresult t:oprkind o:oprcode",
    "pg_opfamily": "o:oid o:opfmethod t:opfname o:opfnamespace o:opfowner",
    "pg_amop": "o:oid o:amopfamily o:amoplefttype o:amoprighttype i:amopstrategy t:amoppurpose o:amopopr",
    "pg_amproc": "o:oid o:amprocfamily o:amproclefttype o:amprocrighttype i:amprocnum t:amproc",
    "pg_partitioned_table": "o:partrelid t:partstrat i:partnatts o:partdefid a:partattrs t:partexprs",
    "pg_policy": "o:oid t:polname o:polrelid t:polcmd b:polpermissive a:polroles t:polqual t:polwithcheck",
    "pg_proc": "o:oid t:proname o:pronamespace o:proowner o:prolang o:prorettype a:proargtypes t:prokind t:prosrc "
    "b:proretset i:pronargs a:proallargtypes t:proargnames t:proargmodes t:proargdefaults b:proisstrict t:provolatile",
    "pg_publication": "o:oid t:pubname o:pubowner b:puballtables b:pubinsert b:pubupdate b:pubdelete b:pubtruncate "
    "b:pubviaroot",
    "pg_publication_namespace": "o:oid o:pnpubid o:pnnspid",
    "pg_publication_rel": "o:oid o:prpubid o:prrelid t:prqual a:prattrs",
    "pg_range": "o:rngtypid o:rngsubtype o:rngmultitypid",
    "pg_rules": "t:schemaname t:tablename t:rulename t:definition",
    "pg_seclabel": "o:objoid o:classoid i:objsubid t:provider t:label",
    "pg_sequence": "o:seqrelid o:seqtypid o:seqstart o:seqincrement o:seqmax o:seqmin o:seqcache b:seqcycle",
    "pg_shdescription": "o:objoid o:classoid t:description",
    "pg_statistic_ext": "o:oid o:stxrelid t:stxname o:stxnamespace a:stxkeys l:stxkind i:stxstattarget",
    "pg_stats": "t:schemaname t:tablename t:attname f:null_frac i:avg_width f:n_distinct",
    "pg_subscription": "o:oid o:subdbid t:subname o:subowner b:subenabled l:subpublications",
    "pg_default_acl": "o:oid o:defaclrole o:defaclnamespace t:defaclobjtype l:defaclacl",
    "pg_tablespace": "o:oid t:spcname o:spcowner l:spcacl l:spcoptions",
    "pg_trigger": "o:oid o:tgrelid t:tgname o:tgfoid i:tgtype t:tgenabled b:tgisinternal o:tgconstraint o:tgparentid",
    "pg_ts_config": "o:oid t:cfgname o:cfgnamespace",
}


def _table(columns: str) -> pa.Table:
    fields = [(name, _KINDS[kind]) for kind, _, name in (each.partition(":") for each in columns.split())]
    return pa.schema(fields).empty_table()


EMPTY: Mapping[str, pa.Table] = {name: _table(columns) for name, columns in _COLUMNS.items()}
"""By their names."""
