import { existsSync, lstatSync, readFileSync, readlinkSync } from "node:fs";
import { cp, mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { unpackDebianPackages } from "@tidings/embedded/debian-package";
import { root } from "../tool.ts";
import { type Component, component } from "./bill-of-materials.ts";
import { readPackage } from "./npm-package.ts";

/** The user of a process of an image: nobody in particular, and in no image root. */
export const USER_ID = 65_532;

/** The libraries that Node is linked with. Nothing else of a system is there: no shell, no package manager. */
const LIBRARIES: Record<string, string> = {
  libc6: "LGPL-2.1-or-later",
  "libgcc-s1": "GPL-3.0-or-later WITH GCC-exception-3.1",
  "libstdc++6": "GPL-3.0-or-later WITH GCC-exception-3.1",
};
/** Parts of the C library that few programs need, and none of ours: tables of character sets. */
const NOT_NEEDED = /\/(gconv|audit)(\/|$)/;

const TEXTS = {
  "etc/passwd": `root:x:0:0:root:/:/sbin/nologin\ntidings:x:${USER_ID}:${USER_ID}:tidings:/:/sbin/nologin\n`,
  "etc/group": `root:x:0:\ntidings:x:${USER_ID}:\n`,
  "etc/nsswitch.conf": "hosts: files dns\n",
};

/** Writes the system below a program: the C and C++ libraries of Debian, who users are, and a place for `/tmp`. */
export async function writeSystemFolder(folder: string): Promise<Component[]> {
  const debian = await unpackDebianPackages("image-system", Object.keys(LIBRARIES), { reinstall: true });
  for (const part of ["lib", "lib64", "usr/lib", "usr/lib64"].filter((name) =>
    existsSync(join(debian, name)),
  ))
    await cp(join(debian, part), join(folder, part), {
      recursive: true,
      verbatimSymlinks: true,
      filter: (path) => !NOT_NEEDED.test(path),
    });
  // Newer releases of Debian have all of it below usr.
  for (const part of ["lib", "lib64"])
    if (!existsSync(join(folder, part))) await symlink(`usr/${part}`, join(folder, part));
  for (const [path, text] of Object.entries(TEXTS)) await write(join(folder, path), text);
  await mkdir(join(folder, "tmp"));
  return Promise.all(
    Object.entries(LIBRARIES).map(async ([name, license]) => {
      const documents = await documentsOf(name, debian);
      const version = versionIn(documents);
      await write(
        join(folder, "usr/share/doc", name, "copyright"),
        readFileSync(join(documents, "copyright")),
      );
      const purl = `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}`;
      return component("library", { name, version, license, purl });
    }),
  );
}

/** Writes Node, the one that this repository runs on. */
export async function writeNodeFolder(folder: string): Promise<Component[]> {
  const { folder: source, version } = readPackage(join(root, "node_modules", `node-linux-${process.arch}`));
  await mkdir(join(folder, "usr/local/bin"), { recursive: true });
  await cp(join(source, "bin/node"), join(folder, "usr/local/bin/node"));
  await write(join(folder, "usr/share/doc/node/copyright"), readFileSync(join(source, "LICENSE")));
  return [
    component("platform", { name: "node", version, license: "MIT", purl: `pkg:generic/node@${version}` }),
  ];
}

/** Packages of one source may have their texts in one package, to which the others link. */
async function documentsOf(name: string, debian: string): Promise<string> {
  const own = join(debian, "usr/share/doc", name);
  if (!lstatSync(own).isSymbolicLink()) return own;
  const other = readlinkSync(own);
  const there = await unpackDebianPackages(`image-${other}`, [other], { reinstall: true });
  return join(there, "usr/share/doc", other);
}

/** The changelog begins with `name (version) release; ...`. */
function versionIn(documents: string): string {
  const changelog = gunzipSync(readFileSync(join(documents, "changelog.Debian.gz"))).toString("utf8");
  const [, version] = /^\S+ \((\S+)\)/.exec(changelog) ?? [];
  if (!version) throw new Error(`${documents} tells no version`);
  return version;
}

async function write(path: string, content: string | Buffer): Promise<void> {
  await mkdir(join(path, ".."), { recursive: true });
  await writeFile(path, content);
}
