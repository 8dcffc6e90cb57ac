import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import type { BrowserContext, Page } from "playwright-core";
import { axeViolations } from "./axe.ts";
import { startBrowser, withPage } from "./browser.ts";
import { MAIL_FIELD, thankingForm } from "./form-fields.ts";
import { PDF, PNG } from "./multipart.ts";
import { startPageServer } from "./page-server.ts";
import { sharedStack } from "./shared-stack.ts";
import { uploader } from "./uploader.ts";
import { BROWSER } from "./visitor.ts";

/** Visitors in a real browser: landing pages and forms on the public web, and a form on a site of somebody else. */

const [stack, browser] = await Promise.all([sharedStack(), startBrowser()]);
const { api, publicUrl, baseUrl, query, made } = stack;
const sitePages = new Map<string, string>();
const site = await startPageServer(sitePages);
after(async () => {
  await browser.close();
  site.stop();
});

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;
const visit = (work: (page: Page, context: BrowserContext) => Promise<void>, options = {}) =>
  withPage(browser, { userAgent: BROWSER, viewport: { width: 1000, height: 700 }, ...options }, work);

describe("a landing page with a form", () => {
  const fields = [
    { ...MAIL_FIELD, isRequired: true },
    {
      label: "Topic",
      alias: "topic",
      type: "select",
      properties: {
        list: {
          list: [
            { label: "Sales", value: "sales" },
            { label: "Other", value: "other" },
          ],
        },
      },
    },
    {
      label: "Next",
      alias: "break",
      type: "pagebreak",
      properties: { next_page_label: "Go on", prev_page_label: "Go back" },
    },
    {
      label: "Name",
      alias: "first",
      type: "text",
      isRequired: true,
      mappedObject: "contact",
      mappedField: "firstname",
    },
    { label: "Send", alias: "send", type: "button" },
  ];
  const begun = (async () => {
    const { form } = await made("forms/new", {
      name: "Landing",
      isPublished: true,
      renderStyle: true,
      postAction: "message",
      postActionProperty: "Thank you, {formfield=first}!",
      fields,
    });
    const { page } = await made("pages/new", {
      title: "Land",
      alias: "land",
      isPublished: true,
      customHtml: `<h1>Welcome {contactfield=firstname|friend}</h1>{form=${form.id}}`,
    });
    return { form, page };
  })();

  test("a person lands, is refused, corrects, sends, and is recognised", async () => {
    const { form, page: landing } = await begun;
    await visit(async (page) => {
      await page.goto(`${publicUrl}/land`);
      await page.getByRole("heading", { name: "Welcome friend" }).waitFor();
      await page.getByRole("button", { name: "Go on" }).click();
      await page.getByText("This is required.").first().waitFor();
      await page.getByLabel("E-mail").fill("landed@visitors.example");
      await page.getByRole("button", { name: "Go on" }).click();
      await page.getByLabel("Name").fill("Grace");
      await page.getByRole("button", { name: "Send" }).click();
      await page.getByText("Thank you, Grace!").waitFor();
      await eventually(async () => {
        await page.goto(`${publicUrl}/land`);
        assert.equal(await page.getByRole("heading").first().textContent(), "Welcome Grace");
      });
    });
    const [submission] = await query(
      `select page_id, contact_id, tracking_id from content.form_submissions where form_id = ${form.id}`,
    );
    assert.equal(submission?.page_id, landing.id);
    const [device] = await query(
      `select contact_id from content.visitor_devices where id = '${submission?.tracking_id}'`,
    );
    assert.equal(device?.contact_id, submission?.contact_id);
  });

  test("it works by keyboard alone, without script, and at 320 pixels", async () => {
    const { form } = await begun;
    await visit(
      async (page) => {
        await page.goto(`${publicUrl}/form/${form.id}`);
        const width = Number(await page.evaluate("document.documentElement.scrollWidth").catch(() => 320));
        assert.ok(width <= 320, `${width} pixels wide`);
        await page.keyboard.press("Tab");
        await page.keyboard.type("keyboard@visitors.example");
        await page.getByLabel("Name").focus();
        await page.keyboard.type("Key");
        await page.keyboard.press("Enter");
        await page.getByText("Thank you, Key!").waitFor();
      },
      { javaScriptEnabled: false, viewport: { width: 320, height: 700 } },
    );
  });

  test("neither keyboard nor screen reader meets the traps of a form", async () => {
    const { form } = await made(
      "forms/new",
      thankingForm("Trapped", [
        { label: "Name", alias: "first", type: "text" },
        { label: "Nothing", alias: "nothing_here", type: "captcha" },
        { label: "Send", alias: "send", type: "button" },
      ]),
    );
    for (const javaScriptEnabled of [true, false])
      await visit(
        async (page) => {
          await page.goto(`${publicUrl}/form/${form.id}`);
          const spoken = await page.locator("body").ariaSnapshot();
          assert.match(spoken, /textbox "Name"/);
          assert.doesNotMatch(spoken, /Leave this empty|Nothing/);
          for (const trap of ["more-details", "nothing_here"])
            assert.equal(await page.locator(`[name="svcform[${trap}]"]`).isVisible(), false, trap);
          await page.keyboard.press("Tab");
          await page.keyboard.type("Keys");
          await page.keyboard.press("Tab");
          await page.keyboard.press("Enter");
          await page.getByText("Thanks").waitFor();
        },
        { javaScriptEnabled },
      );
    const submissions = await query(
      `select results from content.form_submissions where form_id = ${form.id}`,
    );
    assert.equal(submissions.length, 2, "good ones: fast fingers are no spam");
  });

  test("axe finds nothing on the page, the form, its message and the errors of visitors", async () => {
    const { form } = await begun;
    await visit(
      async (page) => {
        for (const path of ["/land", `/form/${form.id}`, "/nowhere", "/"]) {
          await page.goto(publicUrl + path);
          assert.deepEqual(await axeViolations(page), [], path);
        }
      },
      { bypassCSP: true },
    );
  });

  test("a form that another site includes by its script is sent from there", async () => {
    const { form } = await begun;
    sitePages.set(
      "/embed",
      `<!doctype html><html lang="en"><title>E</title><body><main><script src="${publicUrl}/form/generate.js?id=${form.id}"></script></main></body></html>`,
    );
    await visit(async (page) => {
      await page.goto(`${site.origin}/embed`);
      await page.getByLabel("E-mail").fill("embedded@visitors.example");
      await page.getByRole("button", { name: "Go on" }).click();
      await page.getByLabel("Name").fill("Em");
      await page.getByRole("button", { name: "Send" }).click();
      await page.getByText("Thank you, Em!").waitFor();
    });
  });
});

test("a form over a video lets its page know when it was taken, and nothing that was typed", async () => {
  const { form } = await made("forms/new", {
    name: "Gate",
    isPublished: true,
    postAction: "message",
    postActionProperty: "Go on",
    fields: [MAIL_FIELD, { label: "Send", alias: "send", type: "button" }],
  });
  const gate = `/form/embed/${form.id}`;
  sitePages.set(
    "/video",
    `<!doctype html><html lang="en"><title>V</title><script>var got=[];addEventListener("message",(event)=>got.push(event.data))</script>
<iframe title="Gate" src="${publicUrl}${gate}?video=1"></iframe><iframe title="Plain" src="${publicUrl}${gate}"></iframe></html>`,
  );
  await visit(async (page) => {
    await page.goto(`${site.origin}/video`);
    for (const name of ["Plain", "Gate"]) {
      const frame = page.frameLocator(`[title=${name}]`);
      await frame.getByLabel("E-mail").fill(`${name}@videos.example`);
      await frame.getByRole("button", { name: "Send" }).click();
      await frame.getByText("Go on").waitFor();
    }
    const background =
      "getComputedStyle(document.body).backgroundColor + getComputedStyle(document.body).margin";
    assert.match(String(await page.frames()[1]?.evaluate(background)), /^rgba\(0, 0, 0, 0\)0px$/);
    assert.deepEqual(await page.evaluate("got"), ['{"success":1,"formName":"gate"}']);
  });
});

test("a conditional field is shown, required and sent only while its condition holds", async () => {
  const choices = [
    { label: "Work", value: "work" },
    { label: "Home", value: "home" },
  ];
  const select = { label: "Place", alias: "place", type: "select", properties: { list: { list: choices } } };
  const { form } = await made("forms/new", thankingForm("Conditions", [select]));
  const [{ id: parent }] = Object.values<Any>(form.fields) as [Any];
  const on = (expr: string, any: boolean) => ({
    parent,
    conditions: { expr, any, values: any ? [] : ["work"] },
  });
  const { status, text } = await api("PATCH", `forms/${form.id}/edit`, {
    fields: [
      { id: parent, ...select },
      { label: "Firm", alias: "firm", type: "text", isRequired: true, ...on("in", false) },
      { label: "Hobby", alias: "hobby", type: "text", isRequired: true, ...on("notIn", false) },
      { label: "Why", alias: "why", type: "text", ...on("in", true) },
      { label: "Send", alias: "send", type: "button" },
    ],
  });
  assert.equal(status, 200, text);
  await visit(async (page) => {
    await page.goto(`${publicUrl}/form/${form.id}`);
    const shown = async (...labels: string[]) => {
      for (const label of ["Firm", "Hobby", "Why"])
        assert.equal(await page.getByLabel(label).isVisible(), labels.includes(label), label);
    };
    const send = () => page.getByRole("button", { name: "Send" }).click();
    await shown("Hobby");
    await page.getByLabel("Place").selectOption("work");
    await shown("Firm", "Why");
    await send();
    await page.locator("#svcform_error_conditions_firm").filter({ hasText: "'Firm' is required." }).waitFor();
    assert.equal(await page.locator("#svcform_error_conditions_hobby").isVisible(), false);
    await page.getByLabel("Firm").fill("Left behind");
    await page.getByLabel("Place").selectOption("home");
    await shown("Hobby", "Why");
    await page.getByLabel("Hobby").fill("Chess");
    await send();
    await page.getByText("Thanks").waitFor();
  });
  const { body } = await api("GET", `forms/${form.id}/submissions`);
  const { place, firm, hobby } = (body as Any).submissions[0].results;
  assert.deepEqual([place, firm, hobby], ["home", null, "Chess"]);
});

describe("a form with a file, a company and a download", () => {
  const begun = (async () => {
    const { name } = await uploader(baseUrl).file("assets", "guide.txt", "A guide");
    const { asset } = await made("assets/new", {
      title: "Guide",
      isPublished: true,
      storageLocation: "local",
      file: name,
    });
    for (const companyname of ["Lookup One", "Lookup Two", "Other"])
      await made("companies/new", { companyname });
    const { form } = await made("forms/new", {
      name: "Apply",
      isPublished: true,
      postAction: "message",
      postActionProperty: "Received {formfield=cv}.",
      fields: [
        {
          label: "Letter",
          alias: "cv",
          type: "file",
          isRequired: true,
          properties: { allowed_file_extensions: ["pdf"], allowed_file_size: 1 },
        },
        { label: "Company", alias: "firm", type: "companyLookup" },
        { label: "Send", alias: "send", type: "button" },
      ],
      actions: [{ name: "Download", type: "asset.download", properties: { asset: asset.id } }],
    });
    await made("pages/new", {
      title: "Apply",
      alias: "apply",
      isPublished: true,
      customHtml: `<h1>Apply</h1>{form=${form.id}}`,
    });
    return form;
  })();
  const file = (name: string, buffer: Buffer) => ({ name, mimeType: "application/octet-stream", buffer });

  test("a person chooses a file of a wrong kind, then a right one, and gets the download, in a landing page", async () => {
    const form = await begun;
    await visit(async (page) => {
      await page.goto(`${publicUrl}/apply`);
      await page.getByLabel("Letter").setInputFiles(file("picture.pdf", PNG));
      await page.getByRole("button", { name: "Send" }).click();
      await page.getByText("This is no pdf file.").first().waitFor();
      await page.getByLabel("Letter").setInputFiles(file("letter.pdf", PDF));
      const downloading = page.waitForEvent("download");
      await page.getByRole("button", { name: "Send" }).click();
      await page.getByText("Received letter.pdf.").waitFor();
      assert.equal((await downloading).suggestedFilename(), "Guide.txt");
    });
    const { body } = await api("GET", `forms/${form.id}/submissions`);
    const [submission] = (body as Any).submissions;
    assert.equal(submission.files.cv.size, PDF.length);
  });

  test("a person sends a file without script, and the message page begins the download", async () => {
    const form = await begun;
    await visit(
      async (page) => {
        await page.goto(`${publicUrl}/form/${form.id}`);
        await page.getByLabel("Letter").setInputFiles(file("plain.pdf", PDF));
        const downloading = page.waitForEvent("download");
        await page.getByRole("button", { name: "Send" }).click();
        await page.getByText("Received plain.pdf.").waitFor();
        await page.getByRole("link", { name: "Guide" }).waitFor();
        assert.equal((await downloading).suggestedFilename(), "Guide.txt");
      },
      { javaScriptEnabled: false },
    );
  });

  test("a page of the same origin suggests companies while one is typed", async () => {
    const form = await begun;
    await visit(async (page) => {
      await page.route(`${publicUrl}/shop`, (route) =>
        route.fulfill({
          contentType: "text/html",
          body: `<!doctype html><title>Shop</title><body><main><script src="/form/generate.js?id=${form.id}"></script></main></body>`,
        }),
      );
      await page.goto(`${publicUrl}/shop`);
      await page.getByLabel("Company").pressSequentially("look");
      const options = page.locator("datalist option");
      await options.nth(1).waitFor({ state: "attached" });
      assert.deepEqual(
        await options.evaluateAll((all) =>
          all.map((option) => (option as unknown as { value: string }).value),
        ),
        ["Lookup One", "Lookup Two"],
      );
    });
  });
});
