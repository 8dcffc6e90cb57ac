/**
 * SQL: names the database as it goes on from one moment to the next. It is another one where a dump was restored (the table is another, or
 * the cluster is) and where a server took over that may lack the latest commits (the timeline of the log is another).
 */
export const INCARNATION = `(select system_identifier from pg_control_system())::text
  || '.' || left(pg_walfile_name(pg_current_wal_lsn()), 8) || '.' || 'relay_stream'::regclass::oid`;
