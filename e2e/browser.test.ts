import assert from "node:assert/strict";
import { hash, randomBytes } from "node:crypto";
import { after, describe, test } from "node:test";
import type { BrowserContext, Page } from "playwright-core";
import { signIn, startBrowser, takeScreenshot, withPage } from "./browser.ts";
import { startCallbackApp } from "./callback-app.ts";
import { fetchApi } from "./client.ts";
import { createOAuthClient, type OAuthClient, requestTokens } from "./oauth-client.ts";
import { make, newPerson, PASSWORD } from "./people.ts";
import { ADMINISTRATOR, startTestStack } from "./stack.ts";

const [stack, browser, app] = await Promise.all([startTestStack(), startBrowser(), startCallbackApp()]);
after(async () => {
  await browser.close();
  await app.stop();
  await stack.stop();
});
const { baseUrl } = stack;
const newClient = (name: string) =>
  createOAuthClient(stack.database, ["--name", name, "--redirect-uri", app.redirectUri]);

const visit = (work: (page: Page, context: BrowserContext) => Promise<void>, options = {}) =>
  withPage(browser, { viewport: { width: 1100, height: 760 }, ...options }, work);

const verifier = randomBytes(32).toString("base64url");

function authorizeUrl({ client_id }: OAuthClient, state: string): string {
  const query = new URLSearchParams({
    client_id,
    redirect_uri: app.redirectUri,
    response_type: "code",
    state,
    code_challenge: hash("sha256", verifier, "base64url"),
    code_challenge_method: "S256",
  });
  return `${baseUrl}/oauth/v2/authorize?${query}`;
}

const callbackOf = (state: string) => {
  const callback = app.callbacks.find(({ parameters }) => parameters.get("state") === state);
  assert.ok(callback, `nobody came back with ${state}`);
  return callback;
};

describe("an app is let in", () => {
  test("after sign-in and consent it calls the API, and refreshes; the next time nobody is asked", async () => {
    const client = await newClient("Holiday Planner");
    await visit(async (page) => {
      await page.goto(authorizeUrl(client, "first"));
      await takeScreenshot(page, "sign-in");
      await signIn(page);
      await page.getByRole("heading", { name: "Let Holiday Planner use Tidings as you?" }).waitFor();
      await takeScreenshot(page, "consent");
      await page.getByRole("button", { name: "Accept" }).click();
      await page.getByText("Back at the app").waitFor();
      await page.goto(authorizeUrl(client, "second"));
      await page.getByText("Back at the app").waitFor();
    });
    // Signing in leads straight on to the app that is known already.
    await visit(async (page) => {
      await page.goto(authorizeUrl(client, "third"));
      await signIn(page);
      await page.getByText("Back at the app").waitFor();
    });
    for (const state of ["first", "second", "third"]) {
      const { parameters, referer } = callbackOf(state);
      assert.ok(parameters.get("code"));
      assert.equal(referer, undefined);
    }

    const fields = { ...client, redirect_uri: app.redirectUri, code_verifier: verifier };
    const code = callbackOf("first").parameters.get("code") ?? "";
    const { body } = await requestTokens(baseUrl, { ...fields, grant_type: "authorization_code", code });
    const { refresh_token } = body;
    const next = await requestTokens(baseUrl, { ...client, grant_type: "refresh_token", refresh_token });
    const headers = { authorization: `Bearer ${next.body.access_token}` };
    const contacts = await fetchApi(baseUrl, { path: "contacts", headers });
    assert.equal(contacts.status, 200);
  });

  test("not when the user denies it", async () => {
    const client = await newClient("Curious");
    await visit(async (page) => {
      await page.goto(authorizeUrl(client, "denied"));
      await signIn(page);
      await page.getByRole("button", { name: "Deny" }).click();
      await page.getByText("Back at the app").waitFor();
    });
    const { parameters } = callbackOf("denied");
    assert.deepEqual([parameters.get("error"), parameters.get("code")], ["access_denied", null]);
  });

  test("not with the form token of another session", async () => {
    const client = await newClient("Forged");
    await visit(async (page) => {
      await page.goto(authorizeUrl(client, "forged"));
      await signIn(page);
      await page.getByRole("button", { name: "Accept" }).waitFor();
      await page
        .locator("input[name=csrf]")
        .first()
        .evaluate((input) => input.setAttribute("value", "x".repeat(43)));
      await page.getByRole("button", { name: "Accept" }).click();
      await page.getByText("This page was open too long").waitFor();
      await takeScreenshot(page, "refused");
    });
    assert.ok(!app.callbacks.some(({ parameters }) => parameters.get("state") === "forged"));
  });

  test("not from within a frame of another page", async () => {
    const client = await newClient("Framed");
    await visit(async (page) => {
      await page.goto(authorizeUrl(client, "framed"));
      await signIn(page);
      await page.getByRole("button", { name: "Accept" }).waitFor();
      await page.goto(`${app.origin}/frame?${encodeURIComponent(authorizeUrl(client, "framed"))}`);
      const frame = page.frames()[1];
      await frame?.waitForLoadState();
      assert.doesNotMatch((await frame?.content()) ?? "", /Accept|Sign in/);
    });
  });
});

/** Each problem on the page is named by what it is a problem of. */
async function assertDescribed(page: Page): Promise<void> {
  const problems = await page.locator(".problem").evaluateAll((all) => all.map(({ id }) => id));
  assert.ok(problems.length > 0);
  for (const id of problems) assert.equal(await page.locator(`[aria-describedby~="${id}"]`).count(), 1, id);
}

test("a sign-in that was left open leads to the app all the same", async () => {
  const client = await newClient("Patient");
  await visit(async (page, context) => {
    await page.goto(authorizeUrl(client, "cookie gone"));
    await context.clearCookies();
    await signIn(page);
    await page.getByText("the page was open too long").waitFor();
    await signIn(page);
    await page.getByRole("heading", { name: "Let Patient use Tidings as you?" }).waitFor();
  });
  await visit(async (page, context) => {
    await page.goto(authorizeUrl(client, "other tab"));
    const other = await context.newPage();
    await other.goto(`${baseUrl}/authorisations`);
    await signIn(other);
    await other.getByRole("heading", { name: "Authorised apps" }).waitFor();
    await signIn(page);
    await page.getByRole("heading", { name: "Let Patient use Tidings as you?" }).waitFor();
  });
});

test("no page is wider than a small phone, however long the name of an app", async () => {
  const name = "M".repeat(191);
  const client = await newClient(name);
  const assertFits = async (page: Page, what: string) => {
    const [wide, room] = await page.evaluate<[number, number]>(
      "[document.documentElement.scrollWidth, innerWidth]",
    );
    assert.ok(wide <= room, `${what} is ${wide} pixels wide`);
    await takeScreenshot(page, `narrow-${what}`);
  };
  await visit(
    async (page) => {
      await page.goto(authorizeUrl(client, "long"));
      await assertFits(page, "sign-in");
      await signIn(page);
      await page.getByRole("button", { name: "Accept" }).waitFor();
      await assertFits(page, "consent");
      await page.getByRole("button", { name: "Accept" }).click();
      await page.getByText("Back at the app").waitFor();
      await page.goto(`${baseUrl}/authorisations`);
      await assertFits(page, "authorisations");
      await page.goto(`${baseUrl}/credentials`);
      for (const summary of await page.locator("summary").all()) await summary.click();
      await assertFits(page, "credentials");
      await page.goto(`${baseUrl}/credentials/new`);
      await assertFits(page, "new-credential");
      await page.goto(`${baseUrl}/password`);
      await assertFits(page, "password");
    },
    { viewport: { width: 320, height: 640 } },
  );
});

test("an address that is nobody's, and a person without rights, get a page and no dead end", async () => {
  const person = await newPerson(stack, {});
  await visit(async (page) => {
    await page.goto(`${baseUrl}/nope`);
    await page.getByRole("heading", { name: "Not found" }).waitFor();
    await page.goto(`${baseUrl}/authorisations`);
    await signIn(page, { username: person.username, password: PASSWORD });
    await page.getByRole("heading", { name: "Authorised apps" }).waitFor();
    for (const link of await page.locator("a").all()) {
      const target = new URL((await link.getAttribute("href")) ?? "", page.url());
      assert.ok((await page.request.get(target.href)).status() < 400, target.href);
    }
  });
});

test("a wrong password shows an error, and the right one still works", async () => {
  await visit(async (page) => {
    await page.goto(`${baseUrl}/credentials`);
    await signIn(page, { ...ADMINISTRATOR, password: "wrong" });
    await page.getByRole("alert").waitFor();
    // The field that has to be filled in next has the focus, and a screen reader reads its problem.
    const focused = page.locator(":focus");
    assert.equal(await focused.getAttribute("id"), "password");
    assert.equal(await focused.getAttribute("aria-describedby"), "problem");
    await takeScreenshot(page, "wrong-password");
    await signIn(page);
    await page.getByRole("heading", { name: "API credentials" }).waitFor();
  });
});

test("an administrator makes a credential, gives it another secret and deletes it", async () => {
  await visit(async (page) => {
    await page.goto(`${baseUrl}/credentials`);
    await signIn(page);
    await page.getByRole("link", { name: "New credential" }).click();
    await takeScreenshot(page, "new-credential");
    await page.getByLabel("Name").fill("Newsletter Sync");
    await page.getByLabel("Redirect URIs").fill("http://sync.example/callback");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("alert").getByText("cannot be used").waitFor();
    await assertDescribed(page);
    await takeScreenshot(page, "new-credential-refused");
    await page.getByLabel("Redirect URIs").fill("https://sync.example/callback");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByText("tdg_cs_").waitFor();
    await takeScreenshot(page, "secret");
    await page.reload();
    await page.getByRole("heading", { name: "This was done already" }).waitFor();
    await page.getByRole("link", { name: "Go to API credentials" }).click();
    await takeScreenshot(page, "credentials");

    const credential = page.getByRole("listitem").filter({ hasText: "Newsletter Sync" });
    assert.equal(await credential.count(), 1);
    await credential.getByRole("link", { name: "Edit" }).click();
    await page.getByLabel("Redirect URIs").fill("https://sync.example/callback\nhttps://sync.example/other");
    await takeScreenshot(page, "edit-credential");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("The credential was saved.").waitFor();
    await credential.getByText("New secret…").click();
    await credential.getByRole("button", { name: "Make a new secret for Newsletter Sync" }).click();
    await page.getByText("tdg_cs_").waitFor();
    await page.reload();
    await page.getByRole("heading", { name: "This was done already" }).waitFor();
    await page.goto(`${baseUrl}/credentials`);
    await credential.getByText("Delete…").click();
    await takeScreenshot(page, "credentials-delete");
    await credential.getByRole("button", { name: "Delete Newsletter Sync" }).click();
    await page.getByText("The credential was deleted.").waitFor();
    assert.equal(await credential.count(), 0);
  });
});

test("a user takes back what an app was given, and signs out", async () => {
  const client = await newClient("Old App");
  await visit(
    async (page) => {
      await page.goto(authorizeUrl(client, "old"));
      await signIn(page);
      await page.getByRole("button", { name: "Accept" }).click();
      await page.getByText("Back at the app").waitFor();
      await page.goto(`${baseUrl}/authorisations`);
      await takeScreenshot(page, "authorised-apps-dark");
      await page.getByRole("region", { name: "Old App" }).getByRole("button").click();
      await page.getByText("The app has no access to your account any more.").waitFor();
      assert.equal(await page.getByRole("region", { name: "Old App" }).count(), 0);
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.getByRole("heading", { name: "Sign in" }).waitFor();
      await page.goto(`${baseUrl}/authorisations`);
      await page.getByRole("heading", { name: "Sign in" }).waitFor();
    },
    { colorScheme: "dark", viewport: { width: 420, height: 800 } },
  );
});

describe("the script of a focus item", () => {
  const HOSTILE = "</script><img src=x onerror=alert(1)> & \u2028 für 😀";

  /** The page of a customer that includes the script of an item with these members. */
  const shown = async (members: object, look: (page: Page, id: number) => Promise<void>) => {
    const item = await make(stack.api, "focus", "focus", {
      name: "Ours",
      type: "link",
      style: "modal",
      ...members,
    });
    const { status, body } = await stack.api("POST", `focus/${item.id}/js`);
    assert.equal(status, 200);
    const { js } = body as unknown as { js: string };
    await visit(async (page) => {
      const dialogs: string[] = [];
      page.on("dialog", (dialog) => dialogs.push(dialog.message()));
      page.on("pageerror", ({ message }) => dialogs.push(message));
      const html = `<!doctype html><title>Shop</title><body style="height:300vh"><p>Shop</p><script>${js}</script>`;
      await page.route("https://shop.example/", (route) =>
        route.fulfill({ contentType: "text/html", body: html }),
      );
      await page.goto("https://shop.example/");
      await look(page, item.id as number);
      assert.deepEqual(dialogs, [], "nothing of it ran or failed");
    });
  };

  test("shows texts as texts and a link, and stays away for the time that is set", async () => {
    const content = {
      headline: HOSTILE,
      tagline: "Now",
      link_text: "Look",
      link_url: "https://shop.example/sale",
    };
    await shown(
      { properties: { frequency: "once", colors: { primary: "ff0000" }, content } },
      async (page) => {
        const dialog = page.getByRole("dialog", { name: HOSTILE });
        await dialog.waitFor();
        await takeScreenshot(page, "focus-modal");
        assert.equal(await dialog.getByText(HOSTILE).count(), 1);
        assert.equal(await page.getByRole("link", { name: "Look" }).getAttribute("href"), content.link_url);
        await page.getByRole("button", { name: "Close" }).click();
        assert.equal(await dialog.count(), 0);
        await page.reload();
        await page.getByText("Shop").waitFor();
        assert.equal(await dialog.count(), 0);
      },
    );
  });

  test("waits until the page is scrolled, leaves out a link that is none, and keeps HTML as it was written", async () => {
    const properties = {
      when: "scroll_middle",
      content: { link_url: "javascript:alert(1)", link_text: "Look" },
    };
    const html = "<em>Half</em> price";
    await shown({ style: "bar", htmlMode: "html", html, properties }, async (page) => {
      const bar = page.getByRole("region", { name: "Ours" });
      assert.equal(await bar.count(), 0);
      await page.mouse.wheel(0, 5_000);
      await bar.waitFor();
      assert.equal(await bar.locator("em").textContent(), "Half");
      assert.equal(await page.getByRole("link").count(), 0);
    });
  });

  test("has the form in it, which is sent to us from wherever it is", async () => {
    const fields = [{ label: "Your mail", type: "email", isRequired: true }];
    const form = await make(stack.api, "forms", "form", { name: "Sign up", fields });
    await shown({ type: "form", style: "notification", form: form.id }, async (page) => {
      await page.getByLabel("Your mail").waitFor();
      const action = await page.locator("form").getAttribute("action");
      assert.equal(new URL(action ?? "").searchParams.get("formId"), String(form.id));
    });
  });
});
