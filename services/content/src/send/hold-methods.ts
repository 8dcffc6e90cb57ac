import { type Database, prepared } from "@tidings/database/database";
import { INCARNATION } from "@tidings/database/incarnation";
import type { SendHoldService } from "@tidings/proto/tidings/content/v1/send_hold";
import type { Handlers } from "@tidings/rpc/definition";
import { ARE_HELD } from "./send-permits.ts";

const readStatement = prepared("send_permits_read", `select ${ARE_HELD} as are_held`);
const grantStatement = prepared(
  "send_permits_grant",
  `with replaced as (delete from send_permits where incarnation <> ${INCARNATION})
   insert into send_permits (incarnation, granted_by) values (${INCARNATION}, $1) on conflict do nothing`,
);

/** Answers whether sends are held, and lets them go on. `wake` is called once they may. */
export function holdMethods(database: Database, wake: () => void): Handlers<typeof SendHoldService> {
  return {
    getSendHold: async (_, { deadlineMs }) => ({ isHeld: await areSendsHeld(database, deadlineMs) }),
    async resumeSends(_, { actor, deadlineMs }) {
      await database.query(grantStatement, [actor.id], deadlineMs);
      wake();
      return { isHeld: false };
    },
  };
}

export async function areSendsHeld(database: Database, deadlineMs: number): Promise<boolean> {
  const [row] = await database.query(readStatement, [], deadlineMs);
  return row?.are_held === "t";
}
