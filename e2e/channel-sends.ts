import assert from "node:assert/strict";
import type { SendMethodService } from "@tidings/proto/tidings/content/v1/send";
import type { RpcClient } from "@tidings/rpc/client";
import { eventually } from "@tidings/testkit/eventually";
import { calledBy } from "./content-calls.ts";
import type { TestStack } from "./stack.ts";

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;

/** Sends of a channel: campaigns ask for them, and the API lists them. */
export function channelSends(
  { api }: Pick<TestStack, "api">,
  content: RpcClient<typeof SendMethodService>,
  channel: "tweet" | "notification",
) {
  const listed = async (query: string, as = api): Promise<Any[]> => {
    const answer = await as("GET", `sends?channel=${channel}&${query}`);
    assert.equal(answer.status, 200, answer.text);
    return (answer.body as Any).sends;
  };
  return {
    listed,
    async ask(itemId: number, contactIds: number[], occasion = "campaign:1:1") {
      const of = { channel, source: "campaign.event", sourceId: 5, isMarketing: true };
      const asked = { ...of, tokens: Buffer.from("{}"), itemId, contactIds, occasion };
      return (await content.sendToContacts(asked, calledBy("Campaigns"))).outcomes;
    },
    /** The send of an entity to a contact, once it is in this state. */
    becomes: (itemId: number, contactId: number, state: string): Promise<Any> =>
      eventually(async () => {
        const [send] = await listed(`${channel}Id=${itemId}&contactId=${contactId}`);
        assert.equal(send?.state, state, JSON.stringify(send));
        return send;
      }),
  };
}
