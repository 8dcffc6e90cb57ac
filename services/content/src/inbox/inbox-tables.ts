/** SQL of a migration: mails that come back. */
export const INBOX_TABLES = [
  // Absent for replies that callers of the API report.
  "alter table send_replies add column message_id text",
  "insert into jobs (kind, key) values ('inbox', 'all')",
];
