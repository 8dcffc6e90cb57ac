import { backgroundDeadline, type Database, prepared } from "@tidings/store/database";
import { SEALED, type SecretBox } from "./secret-box.ts";

const SLICE = 500;

const plainStatement = prepared(
  "webhooks_plain_secrets",
  `select id, secret from webhooks where secret not like '${SEALED}%' order by id limit ${SLICE}`,
);
const sealStatement = prepared(
  "webhooks_seal_secret",
  `update webhooks w set secret = sealed.secret
   from unnest($1::integer[], $2::text[], $3::text[]) as sealed (id, secret, plain)
   where w.id = sealed.id and w.secret = sealed.plain`,
);

/** Seals the secrets that an older version kept in clear. Harmless to be done by several at once. */
export async function sealPlainSecrets(database: Database, box: SecretBox): Promise<void> {
  for (;;) {
    const rows = await database.query(plainStatement, [], backgroundDeadline());
    const plain = rows.map(({ secret }) => secret ?? "");
    const values = [rows.map(({ id }) => id), plain.map((secret) => box.seal(secret)), plain];
    if (rows.length > 0) await database.query(sealStatement, values, backgroundDeadline());
    if (rows.length < SLICE) return;
  }
}
