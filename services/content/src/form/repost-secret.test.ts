import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { FieldMaskSchema } from "@bufbuild/protobuf/wkt";
import { type Form, FormSchema } from "@tidings/proto/tidings/content/v1/form";
import { type JsonObject, jsonBytes } from "@tidings/resource/json-member";
import { propertiesOf } from "@tidings/resource/properties";
import { sealSecrets } from "@tidings/secrets/sealing";
import { generateSecretKey, secretBox } from "@tidings/secrets/secret-box";
import { callAs, type FormScene, formScene } from "../testing/form-scene.ts";
import { repostHeaders } from "./repost-secret.ts";

let scene: FormScene;
before(async () => {
  scene = await formScene();
});
after(() => scene.close());

const HEADER = "authorization_header";
const URL = "https://crm.example/in";

const addForm = (properties: JsonObject) =>
  scene.add({ actions: [{ name: "Post", type: "form.repost", properties: jsonBytes(properties) }] });

async function patch({ id, actions }: Form, properties: JsonObject | undefined): Promise<Form> {
  const [known] = actions;
  const sent = { id: known?.id ?? 0, ...(properties && { properties: jsonBytes(properties) }) };
  const message = create(FormSchema, { actions: [{ ...sent, name: "Renamed" }] });
  const updateMask = create(FieldMaskSchema, { paths: ["actions"] });
  return (await scene.rows.update({ id, message, updateMask, allowMissing: false }, callAs())).item;
}

/** The stored properties of the form's action. */
async function kept({ id }: Form): Promise<JsonObject> {
  const [row] = await scene.query(
    "select actions -> 0 -> 'properties' as properties from forms where id = $1",
    [id],
  );
  return JSON.parse(row?.properties ?? "");
}

async function opened(form: Form): Promise<unknown> {
  const { [HEADER]: sealed } = await kept(form);
  return typeof sealed === "string" ? scene.box.open(sealed) : undefined;
}

test("the header of a form that posts elsewhere is sealed, in no answer and in no event", async () => {
  const form = await addForm({ post_url: URL, [HEADER]: "Bearer 1234567" });
  assert.match(String((await kept(form))[HEADER]), /^sealed:/);
  const shown = [form, await scene.rows.get(form.id, callAs())].map(({ actions: [action] }) => action);
  for (const action of shown) assert.deepEqual(action && propertiesOf(action), { post_url: URL });
  const events = await scene.query("select encode(payload, 'escape') as payload from outbox");
  assert.ok(!JSON.stringify(events).includes("1234567"));
});

test("a header that is not sent again stays, an empty one is taken away, another one is sealed", async () => {
  const form = await addForm({ post_url: URL, [HEADER]: "one" });
  const sealed = (await kept(form))[HEADER];
  await patch(form, undefined);
  await patch(form, { post_url: URL, failure_email: "a@example.com" });
  await patch(form, { post_url: URL, [HEADER]: "one" });
  assert.equal((await kept(form))[HEADER], sealed);
  await patch(form, { post_url: URL, [HEADER]: "two" });
  assert.equal(await opened(form), "two");
  await patch(form, { post_url: URL, [HEADER]: "" });
  assert.equal(await opened(form), undefined);
});

test("a header is not sent to an address that it was not made for, and sealed text is no header", async () => {
  const form = await addForm({ post_url: URL, [HEADER]: "one" });
  const sealed = (await kept(form))[HEADER];
  await patch(form, { post_url: "https://elsewhere.example/" });
  assert.equal(await opened(form), undefined);
  await patch(form, { post_url: "https://elsewhere.example/", [HEADER]: String(sealed) });
  assert.equal(await opened(form), sealed);
});

test("headers are sealed under the first key, so that the one before can be forgotten", async () => {
  const form = await addForm({ post_url: URL, [HEADER]: "one" });
  const clear = await addForm({ post_url: URL });
  await scene.query(
    `update forms set actions = jsonb_set(actions, '{0,properties,${HEADER}}', '"kept by an older version"') where id = $1`,
    [clear.id],
  );
  const [next, first] = [generateSecretKey("next"), scene.key];
  await sealSecrets(scene.database, repostHeaders, secretBox([next, first]));
  const { open } = secretBox([next]);
  assert.equal(open(String((await kept(form))[HEADER])), "one");
  assert.equal(open(String((await kept(clear))[HEADER])), "kept by an older version");
});
