import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { permissionTable } from "@tidings/gateway/identity/permission-table";
import { resources } from "@tidings/gateway/resources";
import { createClient } from "./client.ts";
import { checkCustomRoutes, pathOf } from "./permission/check-custom.ts";
import { checkPublishing, checkStandardOperations } from "./permission/check-standard.ts";
import { customRoutes, STANDARD } from "./permission/custom-routes.ts";
import { mountedTemplates } from "./permission/mounted-routes.ts";
import { type Sender, startPermissionScene } from "./permission/scene.ts";
import { actionsOf, ownedResources } from "./permission/things.ts";

const scene = await startPermissionScene();
const { stack, administrator, userWith, appWith } = scene;
after(() => stack.stop());

const everyRoute = [
  ...ownedResources.flatMap(({ path }) =>
    STANDARD.map(([method, rest]) => ({ method, template: `/${path}${rest}`, body: undefined })),
  ),
  ...customRoutes,
];

test("the matrix has every route that is mounted, with all its methods", async () => {
  const mounted: string[] = [];
  for (const template of new Set(mountedTemplates())) {
    const { headers, status } = await stack.api("OPTIONS", pathOf(template));
    assert.equal(status, 405, template);
    for (const method of headers.get("allow")?.split(", ") ?? []) mounted.push(`${method} ${template}`);
  }
  const listed = everyRoute.map(({ method, template }) => `${method} ${template}`);
  assert.deepEqual(mounted.toSorted(), listed.toSorted());
  const paths = ownedResources.map(({ path }) => path);
  assert.deepEqual(paths.toSorted(), resources.map(({ path }) => path).toSorted());
});

/** Credentials are judged before the route is known. A password takes a while to be checked: some routes stand for all. */
const nobodies = {
  "somebody anonymous": { open: async () => createClient(stack.baseUrl), stride: 1 },
  "a disabled administrator": {
    open: async () => (await scene.newUser(1, { isPublished: false })).api,
    stride: 8,
  },
};

for (const [name, { open, stride }] of Object.entries(nobodies)) {
  test(`${name} gets 401 from every route`, async () => {
    const client = await open();
    for (const [index, { method, template, body }] of everyRoute.entries()) {
      if (index % stride !== 0 && !process.env.TEST_ALL) continue;
      // Each from an address of its own: otherwise they soon get 429.
      const headers = { "x-forwarded-for": `10.0.${index >> 8}.${index & 255}` };
      const sent = method === "GET" || method === "DELETE" ? undefined : (body ?? {});
      const answer = await client(method, pathOf(template), sent, headers);
      assert.equal(answer.status, 401, `${method} ${template} ${answer.text}`);
    }
  });
}

interface Row {
  name: string;
  open(): Promise<Sender>;
  /** The base whose resources and routes are tried; absent for all of them. */
  about?: string;
}

/**
 * One function decides from a right and a verb (`packages/rpc/src/permission.test.ts` has its table); a route only says which. So each base is
 * tried with every fourth of its actions, beginning with another one than the base before, and each action with some bases. Nothing is
 * lost: a route that names a wrong base answers whoever has all rights but those to the right one, and each base is tried so below. All
 * pairs are tried by `npm run test:all`.
 */
const STRIDE = process.env.TEST_ALL ? 1 : 4;
const bases = [...new Set(ownedResources.map(({ base }) => base))];
const singleRights = bases.flatMap((base, offset) =>
  actionsOf(base)
    .filter((_action, index) => (index + offset) % STRIDE === 0)
    .map((action): Row => {
      const name = `a user with ${base}:${action} alone`;
      return { name, open: () => userWith({ [base]: [action] }), about: base };
    }),
);

/** Rights to other resources open nothing. */
const otherRights = bases.map((base): Row => {
  const rights = [...permissionTable].filter(([other]) => other !== base);
  const others = Object.fromEntries(rights.map(([other, actions]) => [other, [...actions]]));
  return { name: `a user with every right but those to ${base}`, open: () => userWith(others), about: base };
});

const APP_RIGHTS = { "lead:leads": ["editother"], "lead:lists": ["viewown"], "user:users": ["view"] };
const MEMBERSHIP_RIGHTS = { "lead:lists": ["viewown"], "lead:leads": ["viewother", "editown"] };

const rows: Row[] = [
  { name: "an administrator", open: administrator },
  { name: "a user without rights", open: () => userWith({}) },
  { name: "a user with some rights on both ends of a membership", open: () => userWith(MEMBERSHIP_RIGHTS) },
  { name: "an app that acts on its own", open: () => appWith(APP_RIGHTS) },
  ...singleRights,
  ...otherRights,
];

for (const { name, open, about } of rows) {
  const isTried = (...asked: string[]) => about === undefined || asked.includes(about);
  const tried = ownedResources.filter(({ base, admitting = [] }) => isTried(base, ...admitting));
  const routes = customRoutes.filter(({ right, things }) =>
    isTried(...(right ? [right.base] : []), ...things.map(({ base }) => base)),
  );
  describe(name, () => {
    let sender: Sender;
    before(async () => {
      sender = await open();
    });
    for (const resource of tried)
      test(`is answered by ${resource.path} what the rights say`, () =>
        checkStandardOperations(scene, sender, resource));
    for (const resource of tried.filter(({ isPublishedByRight }) => isPublishedByRight))
      test(`publishes of ${resource.path} what the rights say`, () =>
        checkPublishing(scene, sender, resource));
    test("is answered by all other routes what the rights say", () =>
      checkCustomRoutes(scene, sender, routes));
  });
}
