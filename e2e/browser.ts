import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { chromium as chromiumProgram } from "@tidings/embedded/chromium";
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from "playwright-core";
import { ADMINISTRATOR } from "./stack.ts";

const SCREENSHOTS = join(import.meta.dirname, "../.cache/screenshots");

export async function startBrowser(): Promise<Browser> {
  const { path, env } = await chromiumProgram();
  const inherited = Object.fromEntries(
    Object.entries(process.env).filter(([, value]) => value !== undefined),
  );
  return chromium.launch({
    executablePath: path,
    env: { ...(inherited as Record<string, string>), ...(env as Record<string, string>) },
  });
}

/** Does work on a page of a context of its own, which is closed afterwards. */
export async function withPage(
  browser: Browser,
  options: BrowserContextOptions,
  work: (page: Page, context: BrowserContext) => Promise<void>,
): Promise<void> {
  const context = await browser.newContext(options);
  try {
    await work(await context.newPage(), context);
  } finally {
    await context.close();
  }
}

/** Fills in the form that asks for user and password. */
export async function signIn(
  page: Page,
  { username, password }: { username: string; password: string } = ADMINISTRATOR,
): Promise<void> {
  await page.getByLabel("User name or email address").fill(username);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
}

/** Keeps what a page looks like, for a person to look at. */
export async function takeScreenshot(page: Page, name: string): Promise<void> {
  mkdirSync(SCREENSHOTS, { recursive: true });
  await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage: true });
}
