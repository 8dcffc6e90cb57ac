import { prepared } from "@tidings/database/database";
import { SEALING_SLICE, type SealedColumn } from "@tidings/secrets/sealing";

/** The secrets of webhooks. */
export const webhookSecrets: SealedColumn = {
  others: prepared(
    "webhooks_other_seals",
    `select id, secret as text from webhooks where not starts_with(secret, $1) and id > $2
     order by id limit ${SEALING_SLICE}`,
  ),
  replace: prepared(
    "webhooks_seal_secret",
    `update webhooks w set secret = sealed.secret
     from unnest($1::integer[], $2::text[], $3::text[]) as sealed (id, secret, before)
     where w.id = sealed.id and w.secret = sealed.before`,
  ),
  reseal: (text, box) => box.seal(box.open(text)),
};
