import { Verb } from "@tidings/proto/tidings/api/v1/options";
import { ContactMethodService } from "@tidings/proto/tidings/contact/v1/contact";
import type { Actor, ActorSigner } from "@tidings/rpc/actor";
import type { Call } from "@tidings/rpc/call";
import { rpcClient } from "@tidings/rpc/client";
import { connect } from "@tidings/rpc/connection";
import { reach } from "@tidings/rpc/permission";
import { isObject, jsonBytes } from "@tidings/store/json-member";

/** Contacts as the caller may see them, flat, as JSON by id: of one that is gone or hidden the id alone. */
export type SubmittersOf = (ids: number[], call: Call) => Promise<Map<number, Uint8Array>>;

const CONTACTS_MAX = 1_000;
const actor: Actor = { kind: "service", id: null, name: "Submissions", admin: false, permissions: {} };

/** Asks the contact service for them: one call for a page. */
export function connectSubmitters(
  address: string,
  sign: ActorSigner,
): { submittersOf: SubmittersOf; close(): void } {
  const connection = connect(address);
  const contacts = rpcClient(ContactMethodService, connection, sign);
  return {
    async submittersOf(ids, call) {
      const submitters = new Map(ids.map((id) => [id, jsonBytes({ id })]));
      const seen = reach(call.actor, "lead:leads", Verb.VIEW);
      if (seen === "none") return submitters;
      for (let start = 0; start < ids.length; start += CONTACTS_MAX) {
        const asked = ids.slice(start, start + CONTACTS_MAX);
        const { deadlineMs, requestId } = call;
        const rendered = await contacts.renderContacts({ ids: asked }, { actor, deadlineMs, requestId });
        asked.forEach((id, index) => {
          const isVisible =
            seen === "all" || (call.actor.id !== null && rendered.ownerIds[index] === call.actor.id);
          const contact = rendered.contacts[index];
          if (isVisible && contact) submitters.set(id, flat(contact));
        });
      }
      return submitters;
    },
    close: () => connection.close(),
  };
}

/** A contact in one object: what it is, and the values of all of its fields, which come in groups. */
function flat(json: Uint8Array): Uint8Array {
  const { id, points, color, fields } = JSON.parse(Buffer.from(json).toString());
  const groups = isObject(fields) ? Object.values(fields).filter(isObject) : [];
  const values = groups.flatMap((group) =>
    Object.entries(group).map(([alias, field]) => [alias, isObject(field) ? field.value : null]),
  );
  return jsonBytes({ id, points, color, ...Object.fromEntries(values) });
}
