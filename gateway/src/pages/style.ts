import { hash } from "node:crypto";

/** The look of every page. It is part of the page: there is nothing else to load. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --ground: #f4f5f9; --sheet: #ffffff; --ink: #1b2033; --quiet: #484f66; --line: #d5d9e5;
  --accent: #3d45c4; --accent-ink: #ffffff; --danger: #b3261e; --danger-ground: #fdeceb; --good-ground: #e8f5ec; --now-ground: #fff3d6;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #12141c; --sheet: #1c1f2b; --ink: #eceef6; --quiet: #a9b0c6; --line: #363b4f;
    --accent: #aab1ff; --accent-ink: #14172a; --danger: #ffb4ab; --danger-ground: #3b1d1c; --good-ground: #183224; --now-ground: #3a2f12;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; min-height: 100vh; background: var(--ground); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif;
  overflow-wrap: anywhere;
}
header {
  display: flex; flex-wrap: wrap; align-items: center; gap: .5rem 1.5rem; padding: 1rem 1.5rem;
  background: var(--sheet); border-bottom: 1px solid var(--line);
}
header .name { font-weight: 700; font-size: 1.125rem; letter-spacing: -.01em; margin-right: auto; color: inherit; text-decoration: none; }
.skip { position: absolute; left: -100vw; top: 0; padding: .75rem 1rem; background: var(--sheet); z-index: 1; }
.skip:focus { left: 0; }
header .who { color: var(--quiet); }
header a[aria-current] { color: var(--ink); text-decoration: none; font-weight: 600; }
main { max-width: 60rem; margin: 2.5rem auto; padding: 0 1.5rem; }
main.narrow { max-width: 28rem; margin-top: 4rem; }
.sheet {
  background: var(--sheet); border: 1px solid var(--line); border-radius: 12px; padding: 2rem;
  box-shadow: 0 1px 2px rgb(0 0 0 / .04), 0 8px 24px rgb(0 0 0 / .05); margin-bottom: 1.5rem;
}
.sheet > :last-child { margin-bottom: 0; }
h1 { font-size: 1.5rem; line-height: 1.25; letter-spacing: -.02em; margin: 0 0 .5rem; }
h2 { font-size: 1.125rem; margin: 0 0 .25rem; }
p { margin: 0 0 1rem; }
a { color: var(--accent); }
.quiet, .hint { color: var(--quiet); }
.hint { font-size: .875rem; margin: .25rem 0 0; }
label, legend { display: block; font-weight: 600; margin: 0 0 .25rem; padding: 0; }
fieldset { border: 0; margin: 0; padding: 0; min-width: 0; }
.field { margin: 0 0 1.25rem; }
.choice { display: flex; gap: .625rem; align-items: baseline; font-weight: 400; margin: .375rem 0; }
.choice input { accent-color: var(--accent); }
input[type=text], input[type=password], textarea, select {
  width: 100%; padding: .625rem .75rem; font: inherit; color: inherit; background: var(--sheet);
  border: 1px solid var(--quiet); border-radius: 8px;
}
[aria-invalid=true] { border-color: var(--danger) !important; border-width: 2px !important; }
.problem { color: var(--danger); font-size: .875rem; margin: .25rem 0 0; }
.problem::before { content: "Error: "; font-weight: 600; }
.required::after { content: " (required)"; font-weight: 400; color: var(--quiet); }
button, .button {
  display: inline-block; max-width: 100%; overflow-wrap: anywhere; text-align: center; padding: .625rem 1.25rem; font: inherit; font-weight: 600; cursor: pointer; text-decoration: none;
  color: var(--accent-ink); background: var(--accent); border: 1px solid var(--accent); border-radius: 8px;
}
button.plain { color: var(--ink); background: transparent; border-color: var(--quiet); }
button.danger { color: var(--danger); background: transparent; border-color: var(--danger); }
button:hover, .button:hover { box-shadow: 0 0 0 3px var(--line); }
button.link { padding: 0; box-shadow: none; border: 0; background: none; color: var(--accent); font-weight: 400; text-decoration: underline; }
.aside { text-align: center; color: var(--quiet); }
h1 + .note { margin-top: 1rem; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.actions { display: flex; flex-wrap: wrap; gap: .75rem; align-items: center; }
header .actions { gap: .25rem 1.25rem; }
.actions > *, details { min-width: 0; max-width: 100%; }
.actions.wide > * { flex: 1; }
.bar { display: flex; flex-wrap: wrap; gap: 1rem; justify-content: space-between; align-items: center; margin: 0 0 1.5rem; }
.bar h1 { margin: 0; }
.note { padding: .75rem 1rem; border: 1px solid transparent; border-radius: 8px; margin: 0 0 1.25rem; }
.note > :last-child { margin-bottom: 0; }
.note.now { background: var(--now-ground); }
.note.bad { background: var(--danger-ground); color: var(--danger); }
.note.good { background: var(--good-ground); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .375rem 1.25rem; margin: 1rem 0; }
dt { color: var(--quiet); }
dd { margin: 0; min-width: 0; }
code { font: .875rem/1.5 ui-monospace, SFMono-Regular, Menlo, "Liberation Mono", monospace; }
code.block { display: block; user-select: all; white-space: pre-wrap; padding: .625rem .75rem; background: var(--ground); border: 1px solid var(--line); border-radius: 8px; }
ul { margin: 0 0 1rem; padding-left: 1.25rem; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
section.bar > * { margin: 0; min-width: 0; }
ul.cards { list-style: none; padding: 0; margin: 0; }
li.sheet { padding: 1rem 1.5rem; margin-bottom: .75rem; }
li.sheet > p { margin-bottom: .25rem; }
li.sheet .actions > a { padding: .25rem 0; }
.actions:has(> details) { align-items: start; gap: .25rem 2rem; }
details summary { cursor: pointer; font-weight: 600; padding: .25rem 0; max-width: 100%; }
summary.danger { color: var(--danger); }
details[open] summary { margin-bottom: .25rem; }
details.sheet { padding: .75rem 1.25rem; margin-bottom: .75rem; }
.search { margin: 0 0 1.5rem; }
.search label { flex-basis: 100%; margin: 0; }
.search input { flex: 1 1 12rem; width: auto; }
/* Mails are written for a white ground. */
iframe { display: block; width: 100%; height: 70vh; min-height: 20rem; margin: 0 0 1.5rem; background: #fff; color-scheme: light; border: 1px solid var(--line); border-radius: 12px; }
@media (max-width: 34rem) {
  main, main.narrow { margin-top: 1.5rem; padding: 0 1rem; }
  .sheet { padding: 1.25rem; }
  dl { grid-template-columns: 1fr; gap: 0; }
  dd { margin-bottom: .625rem; }
}
`;

/** As a source of `style-src`. */
export const STYLE_HASH = `'sha256-${hash("sha256", STYLE, "base64")}'`;
