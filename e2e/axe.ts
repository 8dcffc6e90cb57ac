import axe from "axe-core";
import type { Page } from "playwright-core";

interface Axe {
  run(options?: { runOnly: string[] }): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }>;
}

/** The rules of axe that a page breaks, each with the elements that do; with `tags` only rules with one of these. */
export async function axeViolations(page: Page, tags?: string[]): Promise<string[]> {
  await page.evaluate(axe.source);
  return page.evaluate(async (tags) => {
    const { axe } = globalThis as unknown as { axe: Axe };
    const { violations } = await axe.run(tags && { runOnly: tags });
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join("\n")}`);
  }, tags);
}
