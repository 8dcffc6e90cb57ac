import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { DESCRIPTION_PATH } from "@tidings/gateway/described-api";
import { permissionTable } from "@tidings/gateway/identity/permission-table";
import { createClient } from "./client.ts";
import { checkOwnRoutes, entitiesOf } from "./permission/check-own.ts";
import { checkPublishing, checkStandardOperations } from "./permission/check-standard.ts";
import { allRoutes, exampleOf, ownRoutes, pathOf } from "./permission/routes.ts";
import { type Sender, startPermissionScene } from "./permission/scene.ts";
import { actionsOf, ownedResources } from "./permission/things.ts";

const scene = await startPermissionScene();
const { stack, administrator, userWith, appWith } = scene;
after(() => stack.stop());

test("each path answers the methods of its rows and no others", async () => {
  for (const [template, rows] of Map.groupBy(allRoutes, ({ path }) => path)) {
    const { headers, status } = await stack.api("OPTIONS", pathOf(template));
    assert.equal(status, 405, template);
    const allowed = headers.get("allow")?.split(", ") ?? [];
    assert.deepEqual(allowed.toSorted(), rows.map(({ method }) => method).toSorted(), template);
  }
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
  test(`${name} gets 401 from every route but the description that is open`, async () => {
    const client = await open();
    for (const [index, route] of allRoutes.entries()) {
      const { method, path } = route;
      if (index % stride !== 0 && !process.env.TEST_ALL) continue;
      // Each from an address of its own: otherwise they soon get 429.
      const headers = { "x-forwarded-for": `10.0.${index >> 8}.${index & 255}` };
      const sent = method === "GET" || method === "DELETE" ? undefined : (exampleOf(route) ?? {});
      const answer = await client(method, pathOf(path), sent, headers);
      const isOpen = path === DESCRIPTION_PATH && name === "somebody anonymous";
      assert.equal(answer.status, isOpen ? 200 : 401, `${method} ${path} ${answer.text}`);
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
  const routes = ownRoutes.filter((route) =>
    isTried(...(route.right ? [route.right.base] : []), ...entitiesOf(route).map(({ base }) => base)),
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
    test("is answered by all other routes what the rights say", () => checkOwnRoutes(scene, sender, routes));
  });
}
