import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { PUBLIC_PATHS } from "@tidings/rpc/public-paths";
import { startVisitedStack } from "./visited-stack.ts";
import { visitor } from "./visitor.ts";

/** The cookies that a browser gets on each path of the public web, for each setting of consent. */

interface Setting {
  name: string;
  consent: string;
  headers: Record<string, string>;
  isKnown: boolean;
}

const SETTINGS: Setting[] = [
  { name: "signal, and a browser that refuses", consent: "signal", headers: { dnt: "1" }, isKnown: false },
  { name: "required, before anything was asked", consent: "required", headers: {}, isKnown: false },
  { name: "off, and a browser that refuses", consent: "off", headers: { dnt: "1" }, isKnown: true },
];
const IDS = ["mtc_id", "svc_device_id", "svc_referer_id"];
/** Cookies of a visitor who is known, on paths that set any. */
const KEPT: Record<string, string[]> = {
  "/tested": [...IDS, "svc_page_*"],
  "/nowhere": IDS,
  "/asset/": IDS.slice(0, 2),
  "/form/": ["svc_device_id"],
  "/form/submit": IDS.slice(0, 2),
  "/form/submit/ajax": IDS.slice(0, 2),
  "/dwc/": IDS.slice(0, 2),
  "/mtc": IDS.slice(0, 2),
  "/mtc/event": IDS,
  "/mtracking.gif": IDS,
  "/video/hit": IDS.slice(0, 2),
};

for (const { name, consent, headers, isKnown } of SETTINGS)
  describe(`with TRACKING_CONSENT=${name}`, () => {
    test("each public path sets the cookies that are allowed, and no other", async (t) => {
      const stack = await startVisitedStack({ env: { content: { TRACKING_CONSENT: consent } } });
      t.after(() => stack.stop());
      const { made, baseUrl } = stack;
      const open = { isPublished: true };
      const { form } = await made("forms/new", {
        ...{ name: "F", ...open, postAction: "message", postActionProperty: "Thanks" },
        fields: [{ label: "First", alias: "first", type: "text" }],
      });
      const { page } = await made("pages/new", { title: "Tested", ...open, customHtml: "A {form=1}" });
      const variant = { title: "B", ...open, customHtml: "B", variantParent: page.id };
      await made("pages/new", { ...variant, variantSettings: { weight: 50 } });
      const remote = { storageLocation: "remote", file: "https://files.example/x.pdf" };
      const { asset } = await made("assets/new", { title: "A", ...open, ...remote });
      const focus = { name: "I", ...open, type: "link", style: "bar" };
      const { focus: item } = await made("focus/new", focus);
      const addresses: Record<string, string> = {
        "/asset/": new URL(asset.downloadUrl).pathname,
        "/form/": `/form/${form.id}`,
        "/form/submit": `/form/submit?formId=${form.id}`,
        "/form/submit/ajax": `/form/submit/ajax?formId=${form.id}`,
        "/focus/": `/focus/${item.id}.js`,
        "/focus/event": `/focus/event?focus=${item.id}&type=view`,
        "/dwc/": "/dwc/top",
      };
      const paths = [
        ...PUBLIC_PATHS,
        ...["/tested", "/nowhere"].map((path) => ({ path, methods: ["GET"] })),
        ...["/form/generate.js", "/form/embed/"].map((path) => ({ path, methods: ["GET"] })),
      ];
      addresses["/form/generate.js"] = `/form/generate.js?id=${form.id}`;
      addresses["/form/embed/"] = `/form/embed/${form.id}`;
      for (const { path, methods } of paths)
        for (const method of methods) {
          const browser = visitor(baseUrl);
          const isForm = method === "POST";
          const { status } = await browser.ask(addresses[path] ?? path, {
            method,
            headers: {
              ...headers,
              ...(isForm && { "content-type": "application/x-www-form-urlencoded" }),
            },
            ...(isForm && { body: "svcform[first]=Ada&page_url=https%3A%2F%2Fshop.example%2F" }),
          });
          assert.ok(status < 500, `${method} ${path} ${status}`);
          const names = [...browser.cookies.keys()].map((cookie) => cookie.replace(/_page_\d+$/, "_page_*"));
          const allowed = isKnown ? (KEPT[path] ?? []) : [];
          assert.deepEqual(names.toSorted(), allowed.toSorted(), `${method} ${path}`);
        }
    });
  });
