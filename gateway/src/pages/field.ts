import type { Violation } from "@tidings/rpc/fault";
import { type Html, html } from "@tidings/runtime/html";

/** The notes of a field, its hint and its problems, which describe it (aria-describedby, WAI-ARIA 1.2). */
export interface FieldNotes {
  name: string;
  violations: Violation[];
  hint?: string;
}

/** The attributes of a field. */
export function describedBy({ name, violations, hint }: FieldNotes): Html | undefined {
  const isWrong = violations.some(({ field }) => field === name);
  const ids = [...(isWrong ? [`${name}-problem`] : []), ...(hint ? [`${name}-hint`] : [])].join(" ");
  if (ids === "") return undefined;
  return html`aria-describedby="${ids}"${isWrong ? html` aria-invalid="true"` : undefined}`;
}

/** The notes that are shown below a field. */
export function notesOf({ name, violations, hint }: FieldNotes): Html {
  const texts = violations.filter(({ field }) => field === name).map(({ message }) => message);
  return html`${texts.length > 0 ? html`<p class="problem" id="${name}-problem">${texts.join(" ")}</p>` : undefined}
${hint ? html`<p class="hint" id="${name}-hint">${hint}</p>` : undefined}`;
}

/** All problems of a form with the way to each: what has the focus when it is shown again. */
export function problemSummary(
  violations: Violation[],
  labels: ReadonlyMap<string, string>,
): Html | undefined {
  if (violations.length === 0) return undefined;
  const items = violations.map(
    ({ field, message }) => html`<li><a href="#${field}">${labels.get(field) ?? field}</a>: ${message}</li>`,
  );
  return html`<div class="note bad" role="alert" tabindex="-1" autofocus id="problem"><p>Please correct this:</p>
<ul>${items}</ul></div>`;
}
