import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { chromium as chromiumProgram } from "@tidings/embedded/chromium";
import { type Browser, chromium, type Page } from "playwright-core";

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

/** Keeps what a page looks like, for a person to look at. */
export async function takeScreenshot(page: Page, name: string): Promise<void> {
  mkdirSync(SCREENSHOTS, { recursive: true });
  await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage: true });
}
