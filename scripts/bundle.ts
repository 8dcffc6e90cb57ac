import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { type BuildOptions, build, type Metafile, type Plugin, stop } from "esbuild";
import { type ProcessName, processes } from "./processes.ts";
import { replaceFile, replaceFolder } from "./replace-file.ts";
import { root } from "./tool.ts";

export interface Program {
  name: string;
  /** From the root of the repository. */
  entry: string;
  /** Folders that it reads beside its entry. */
  folders: string[];
  /** Files of packages that it reads, too: where they are put, and whence they come. */
  files?: Record<string, string>;
  /** Scripts that it serves to browsers: where they are put, and what they are bundled from. */
  scripts?: Record<string, string>;
}

const READ: Partial<Record<ProcessName, Pick<Program, "folders" | "files" | "scripts">>> = {
  content: {
    folders: ["themes"],
    scripts: {
      "browser/focus.js": "browser/focus.ts",
      "browser/form.js": "browser/form.ts",
      "browser/mtc.js": "browser/mtc.ts",
    },
  },
  gateway: {
    folders: ["viewer"],
    files: { "viewer/rapidoc-min.js": "rapidoc/dist/rapidoc-min.js" },
    scripts: { "viewer/api-docs.js": "browser/api-docs.ts" },
  },
};

/** The programs of the product: its processes, and the one that prepares their database. */
export const programs: Program[] = [
  ...processes.map(({ name, entry }) => ({ name, entry, folders: [], ...READ[name] })),
  { name: "migrate", entry: "scripts/migrate.ts", folders: [] },
];

/** Native modules stay where they are: a bundle finds them through the package that it lies in. */
export const NATIVE = ["@node-rs/argon2"];
/** So does what few need, until it is asked for. */
export const RARE = ["@aws-sdk/client-s3", "@tidings/telemetry"];

/** Modules of CommonJS ask for Node's own by `require`. */
const BANNER =
  'import { createRequire as requireFrom } from "node:module"; const require = requireFrom(import.meta.url);';

const OPTIONS = {
  absWorkingDir: root,
  bundle: true,
  platform: "node",
  target: "node24",
  format: "esm",
  mainFields: ["module", "main"],
  banner: { js: BANNER },
  metafile: true,
  logLevel: "warning",
} as const satisfies BuildOptions;

/** The one file that a program runs from, given its entry among the sources. */
export function bundleOf(entry: string, out = root): string {
  return join(out, outputOf(entry));
}

/**
 * Makes one file of each program and all that it imports, in a folder with what it reads besides: it starts in less time and
 * takes less memory than its sources. Answers what went into each.
 */
export async function bundlePrograms(out = root): Promise<Metafile> {
  const { metafile, outputFiles } = await build({
    ...OPTIONS,
    write: false,
    entryPoints: Object.fromEntries(
      programs.map(({ entry }) => [outputOf(entry).replace(/\.js$/, ""), entry]),
    ),
    outdir: out,
    external: [...NATIVE, ...RARE],
  });
  const scripts = await bundleScripts(out);
  // Else its process stays, with all the memory it took.
  await stop();
  for (const { path, text } of outputFiles) await replaceFile(path, escaped(text));
  for (const { entry, folders, files = {} } of programs) {
    const target = dirname(bundleOf(entry, out));
    for (const folder of folders)
      await replaceFolder(join(root, dirname(entry), folder), join(target, folder));
    const { resolve } = createRequire(join(root, entry));
    for (const [name, source] of Object.entries(files))
      await replaceFile(join(target, name), await readFile(resolve(source), "utf8"));
  }
  for (const { path, text } of scripts) await replaceFile(path, text);
  return metafile;
}

/** One file for each script, as browsers of the last years read it. */
async function bundleScripts(out: string): Promise<{ path: string; text: string }[]> {
  const wanted = programs.flatMap(({ entry, scripts = {} }) =>
    Object.entries(scripts).map(([name, source]) => ({
      path: join(dirname(bundleOf(entry, out)), name),
      source: join(root, dirname(entry), source),
    })),
  );
  return Promise.all(
    wanted.map(async ({ path, source }) => {
      const { outputFiles } = await build({
        entryPoints: [source],
        bundle: true,
        write: false,
        format: "iife",
        target: "es2022",
        minify: true,
        charset: "ascii",
      });
      return { path, text: outputFiles[0]?.text ?? "" };
    }),
  );
}

/**
 * V8 keeps the text of a running program, a byte for each character where all are ASCII, and two where one is not. The others that esbuild
 * leaves stand in comments and regular expressions, where an escape means the same.
 */
function escaped(text: string): string {
  const asEscape = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return text.replace(/[\u0080-\uffff]/g, asEscape);
}

/** Modules that ask for others by a function of their own making, which no bundler sees through. */
const requiring: Plugin = {
  name: "requiring",
  setup({ onLoad }) {
    onLoad({ filter: /otlp-grpc-exporter-base\/.*\.mjs$/ }, async ({ path }) => {
      const text = await readFile(path, "utf8");
      return { contents: text.replaceAll('__require("@grpc/grpc-js")', 'require("@grpc/grpc-js")') };
    });
  },
};

/** Makes one file of a package as the program finds it. Answers what went into it. */
export async function bundlePackage(name: string, { entry }: Program, outfile: string): Promise<Metafile> {
  const stdin = {
    contents: `export * from ${JSON.stringify(name)};`,
    resolveDir: join(root, dirname(entry)),
  };
  const { metafile, outputFiles } = await build({
    ...OPTIONS,
    write: false,
    stdin,
    outfile,
    plugins: [requiring],
  });
  await stop();
  for (const { path, text } of outputFiles) await replaceFile(path, escaped(text));
  return metafile;
}

/** `gateway/src/main.ts` becomes `gateway/dist/main.js`, `scripts/migrate.ts` `scripts/dist/migrate.js`. */
function outputOf(entry: string): string {
  return join(dirname(entry).replace(/\/src$/, ""), "dist", `${basename(entry, ".ts")}.js`);
}
