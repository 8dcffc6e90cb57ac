import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { resources } from "@tidings/gateway/resources";
import type { Client } from "./client.ts";
import { addFirstContact } from "./resources.ts";
import { startTestStack } from "./stack.ts";

/** Examples of the description: they are sent as they stand, and answered as they say. */

const stack = await startTestStack();
after(() => stack.stop());
const { api } = stack;
before(() => addFirstContact(api));

interface Content {
  "application/json": { example?: object; examples: { answer: { $ref: string } } };
}
interface Described {
  paths: Record<
    string,
    Record<string, { requestBody: { content: Content }; responses: Record<string, { content: Content }> }>
  >;
  components: { examples: Record<string, { value: object }> };
}

async function described(client: Client): Promise<Described> {
  return JSON.parse((await client("GET", "openapi.json")).text);
}

/** Members that differ between installations, or from one second to the next. */
const OWN = /^(id|date\w*|createdBy\w*|secret|downloadUrl|cachedHtml|fields)$/;

/** Without these members, at any depth. The rest of a form's fields is looked at, but not that of a contact's. */
function comparable(json: unknown): unknown {
  return JSON.parse(JSON.stringify(json), (name, value) => {
    if (name === "fields" && !("core" in value)) return value;
    return OWN.test(name) ? undefined : value;
  });
}

// Fields of contacts and of companies are one message, which one of the two has the example of.
for (const { path } of resources.filter(({ path }) => path !== "fields/company"))
  test(`${path}: the example of a new one is taken, and answered as the example of the answer says`, async () => {
    const { paths, components } = await described(api);
    const { requestBody, responses } = paths[`/api/${path}/new`]?.post ?? {};
    const { example } = requestBody?.content["application/json"] ?? {};
    const answer = await api("POST", `${path}/new`, example);
    assert.ok(answer.status < 300, answer.text);
    const { $ref = "" } = responses?.[answer.status]?.content["application/json"].examples.answer ?? {};
    const { value } = components.examples[$ref.split("/").at(-1) ?? ""] ?? {};
    assert.deepEqual(comparable(JSON.parse(answer.text)), comparable(value));
  });
