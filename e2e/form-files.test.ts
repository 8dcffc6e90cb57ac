import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, stat, utimes, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { after, test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import { BOUNDARY, GIF, MULTIPART, multipart, type Part, PDF, PNG } from "./multipart.ts";
import { make, newPerson, PASSWORD } from "./people.ts";
import { sendRaw } from "./raw-http.ts";
import { ADMINISTRATOR } from "./stack.ts";
import { authorizationOf, type Login } from "./uploader.ts";
import { startVisitedStack } from "./visited-stack.ts";
import { visitor } from "./visitor.ts";

/** Files that visitors send with forms, through the gateway. */

const BYTES_MAX = 4_000_000;

const stack = await startVisitedStack({ env: { content: { FORM_BYTES_MAX: String(BYTES_MAX) } } });
after(() => stack.stop());
const { api, baseUrl, query } = stack;

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;
const file = (alias: string, members: object = {}, properties: object = {}) => ({
  label: alias,
  alias,
  type: "file",
  properties: { allowed_file_extensions: ["pdf", "png", "txt", "docx"], ...properties },
  ...members,
});
const MAIL = { label: "Mail", alias: "mail", type: "email", mappedObject: "contact", mappedField: "email" };
const newForm = (fields: object[]): Promise<Any> =>
  make(api, "forms", "form", {
    name: "Apply",
    isPublished: true,
    postAction: "message",
    postActionProperty: "Thanks",
    fields,
  });

const textPart = (alias: string, content: string): Part => ({ name: `svcform[${alias}]`, content });
const filePart = (alias: string, filename: string, content: Buffer | string): Part => ({
  name: `svcform[${alias}]`,
  filename,
  content,
});
const send = (form: Any, parts: Part[], path = "/form/submit/ajax") =>
  visitor(baseUrl).ask(`${path}?formId=${form.id}`, {
    method: "POST",
    headers: { "content-type": MULTIPART },
    body: multipart(...parts),
  });
const submissionsOf = async (form: Any): Promise<Any[]> => {
  const { status, text, body } = await api("GET", `forms/${form.id}/submissions`);
  assert.equal(status, 200, text);
  return (body as Any).submissions;
};
const download = (form: Any, submissionId: number, alias: string, login: Login = ADMINISTRATOR) =>
  sendRaw(baseUrl, {
    method: "GET",
    path: `/api/forms/${form.id}/submissions/${submissionId}/files/${alias}`,
    headers: { authorization: authorizationOf(login) },
  });

/** Bytes on the disk of the content service: files that are kept, and files that have not been taken. */
async function filesIn(folder: "kept" | "arriving"): Promise<string[]> {
  const path = join(stack.filesFolder, folder);
  const found = await readdir(path, { recursive: true, withFileTypes: true }).catch(() => []);
  return found.filter((entry) => entry.isFile()).map(({ name }) => name);
}
/** Runs work that must leave neither bytes nor rows behind. */
async function withoutTrace(form: Any, work: () => Promise<unknown>): Promise<void> {
  const state = async () => ({
    kept: (await filesIn("kept")).length,
    arriving: (await filesIn("arriving")).length,
    rows: (await query("select 1 from content.form_files")).length,
    submissions: (await query(`select 1 from content.form_submissions where form_id = ${form.id}`)).length,
  });
  const before = await state();
  await work();
  await eventually(async () => assert.deepEqual(await state(), before));
}

test("a file belongs to its submission, whose caller may download it as it was sent and as nothing but a download", async () => {
  const form = await newForm([MAIL, file("cv")]);
  const sent = await send(form, [
    textPart("mail", "cv@files.example"),
    filePart("cv", "C:\\fakepath\\My ‮CV.pdf", PDF),
  ]);
  assert.equal(sent.json.success, 1, sent.text);
  assert.deepEqual(sent.json.results, { mail: "cv@files.example", cv: "My CV.pdf" });
  const [submission] = await submissionsOf(form);
  assert.equal(submission.results.cv, "My CV.pdf");
  assert.deepEqual(submission.files, { cv: { name: "My CV.pdf", size: PDF.length, url: null } });
  const answer = await download(form, submission.id, "cv");
  assert.equal(answer.status, 200);
  assert.equal(answer.text, PDF.toString());
  assert.equal(answer.headers["content-type"], "application/octet-stream");
  assert.equal(answer.headers["x-content-type-options"], "nosniff");
  assert.equal(answer.headers["content-disposition"], "attachment; filename*=UTF-8''My%20CV.pdf");
  assert.deepEqual(await filesIn("arriving"), []);
});

test("only a caller who may view the form may download its files", async () => {
  const form = await newForm([file("cv")]);
  const other = await newForm([file("cv")]);
  await send(form, [filePart("cv", "cv.pdf", PDF)]);
  const [{ id }] = (await submissionsOf(form)) as [Any];
  assert.equal((await download(other, id, "cv")).status, 404, "of another form");
  assert.equal((await download(form, id, "other")).status, 404);
  assert.equal((await download(form, 2_000_000_000, "cv")).status, 404);
  for (const [rights, status] of [
    [{ "form:forms": ["viewother"] }, 200],
    [{ "form:forms": ["viewown"] }, 404],
    [{ "page:pages": ["full"] }, 403],
  ] as const) {
    const person = await newPerson(stack, rights as unknown as Record<string, string[]>);
    const login = { username: person.username, password: PASSWORD };
    assert.equal((await download(form, id, "cv", login)).status, status, JSON.stringify(rights));
  }
  const path = `/api/forms/${form.id}/submissions/${id}/files/cv`;
  assert.equal((await sendRaw(baseUrl, { method: "GET", path })).status, 401);
});

test("files of a public field are downloads for everybody while the field is public; no others are", async () => {
  const form = await newForm([file("open", {}, { public: 1 }), file("closed")]);
  await send(form, [filePart("open", "o.png", PNG), filePart("closed", "c.png", PNG)]);
  const [submission] = (await submissionsOf(form)) as [Any];
  const { url } = submission.files.open;
  assert.equal(submission.files.closed.url, null);
  const path = new URL(url).pathname;
  const shown = await fetch(`${baseUrl}${path}`);
  assert.equal(shown.status, 200);
  assert.deepEqual(Buffer.from(await shown.arrayBuffer()), PNG);
  assert.equal(shown.headers.get("content-type"), "application/octet-stream");
  assert.match(shown.headers.get("content-disposition") ?? "", /^attachment; filename\*=UTF-8''o\.png$/);
  assert.equal(shown.headers.get("x-content-type-options"), "nosniff");
  const [closed] = await query(
    `select name from content.form_files where submission_id = ${submission.id} and original_name = 'c.png'`,
  );
  for (const name of [`forms/${closed?.name}`, `images/${closed?.name}`, "forms/x.bin", "forms/"])
    assert.equal((await fetch(`${baseUrl}/media/${name}`)).status, 404, name);
  const fields = Object.values<Any>(form.fields).map((field) => ({
    ...field,
    properties: { ...field.properties, public: 0 },
  }));
  assert.equal((await api("PATCH", `forms/${form.id}/edit`, { fields })).status, 200);
  assert.equal((await fetch(`${baseUrl}${path}`)).status, 404);
});

test("files that are not what their names say, or none that the field takes, are refused with the reason and leave nothing", async () => {
  const form = await newForm([file("cv", { isRequired: true }, { allowed_file_size: 1 })]);
  const zip = Buffer.concat([Buffer.from("PK\x03\x04"), randomBytes(200)]);
  const hostile: [name: string, content: Buffer | string, RegExp][] = [
    ["page.png", "<!doctype html><script>alert(1)</script>", /no png file/],
    ["page.txt", "<!doctype html><script>alert(1)</script>", /no txt file/],
    ["image.svg", "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", /these kinds/],
    ["shell.pdf.php", PDF, /these kinds/],
    ["cv.pdf\u202Egnp.exe", PDF, /these kinds/],
    ["picture.pdf", PNG, /no pdf file/],
    ["program.pdf", Buffer.from("MZ\x90\0\x03\0\0\0"), /no pdf file/],
    ["image.gif", GIF, /these kinds/],
    ["bomb.zip", zip, /these kinds/],
    ["empty.pdf", "", /empty/],
    ["none", PDF, /these kinds/],
    [".pdf.", PDF, /these kinds/],
    [`${"long".repeat(500)}.exe`, PDF, /these kinds/],
    ["large.pdf", Buffer.concat([PDF, Buffer.alloc(1_000_000)]), /1 MB/],
  ];
  await withoutTrace(form, async () => {
    for (const [name, content, reason] of hostile) {
      const { json, status } = await send(form, [filePart("cv", name, content)]);
      assert.equal(status, 200, name);
      assert.match(String((json.validationErrors as Any)?.cv), reason, name.slice(0, 40));
    }
    for (const parts of [
      [],
      [filePart("cv", "", "")],
      [textPart("cv", "cv.pdf")],
      [filePart("cv", "a.pdf", PDF), filePart("cv", "b.pdf", PDF)],
    ])
      assert.equal((await send(form, parts)).json.success, 0);
  });
});

test("harmless files are kept under harmless names, whatever path, length or characters their names have", async () => {
  const form = await newForm([file("cv")]);
  const named: [sent: string, kept: RegExp][] = [
    ["../../etc/passwd.txt", /^passwd\.txt$/],
    [`${"n".repeat(400)}.txt`, /^n{251}\.txt$/],
    ["<img src=x onerror=alert(1)>.txt", /^\.txt$/],
    ["a.php.txt", /^a\.php\.txt$/],
  ];
  for (const [name, kept] of named) {
    const { json } = await send(form, [filePart("cv", name, "plain text")]);
    assert.equal(json.success, 1, JSON.stringify(json));
    assert.match(String((json.results as Any).cv), kept);
  }
  const archive = Buffer.concat([Buffer.from("PK\x03\x04"), randomBytes(500_000)]);
  assert.equal((await send(form, [filePart("cv", "letter.docx", archive)])).json.success, 1);
  for (const name of await filesIn("kept")) assert.match(name, /^[0-9a-f]{32}\.bin$/);
});

test("all files of a submission together have a limit, as have their number and the bytes of a body", async () => {
  const form = await newForm([file("a"), file("b")]);
  await withoutTrace(form, async () => {
    const large = Buffer.concat([PDF, Buffer.alloc(BYTES_MAX / 2)]);
    assert.equal(
      (await send(form, [filePart("a", "a.pdf", large), filePart("b", "b.pdf", large)])).status,
      413,
    );
    const many = Array.from({ length: 60 }, (_, at) => filePart(`x${at}`, "a.pdf", PDF));
    assert.equal((await send(form, many)).status, 400);
  });
});

test("a submission that is refused for another field, or whose form is closed, leaves no file", async () => {
  const form = await newForm([{ ...MAIL, isRequired: true }, file("cv")]);
  await withoutTrace(form, async () => {
    const { json } = await send(form, [filePart("cv", "cv.pdf", PDF)]);
    assert.deepEqual(Object.keys(json.validationErrors as object), ["mail"]);
    await api("PATCH", `forms/${form.id}/edit`, { isPublished: false });
    const closed = await send(form, [textPart("mail", "a@files.example"), filePart("cv", "cv.pdf", PDF)]);
    assert.equal(closed.json.success, 0);
    assert.equal((await send({ id: 999_999 }, [filePart("cv", "cv.pdf", PDF)])).json.success, 0);
  });
});

test("a file field that is not asked for takes nothing, and a required one is judged where it is asked for", async () => {
  const form = await newForm([
    { label: "Kind", alias: "kind", type: "text" },
    file("cv", { isRequired: true }),
  ]);
  const [kind, cv] = Object.values<Any>(form.fields);
  const conditions = { expr: "in", any: false, values: ["job"] };
  const fields = [kind, { ...cv, parent: kind.id, conditions }];
  assert.equal((await api("PATCH", `forms/${form.id}/edit`, { fields })).status, 200);
  const kept = (await filesIn("kept")).length;
  const hidden = await send(form, [textPart("kind", "other"), filePart("cv", "cv.pdf", PDF)]);
  assert.equal(hidden.json.success, 1, hidden.text);
  const [submission] = (await submissionsOf(form)) as [Any];
  assert.deepEqual([submission.results.cv, submission.files], [null, {}]);
  assert.equal((await filesIn("kept")).length, kept);
  assert.equal((await send(form, [textPart("kind", "job")])).json.success, 0);
  assert.equal((await send(form, [textPart("kind", "job"), filePart("cv", "cv.pdf", PDF)])).json.success, 1);
});

test("the same submission sent many times at once keeps its file once", async () => {
  const form = await newForm([file("cv")]);
  const kept = (await filesIn("kept")).length;
  const parts = [textPart("submissionKey", randomUUID()), filePart("cv", "cv.pdf", PDF)];
  const answers = await Promise.all(Array.from({ length: 8 }, () => send(form, parts)));
  for (const { json, text } of [...answers, await send(form, parts)]) assert.equal(json.success, 1, text);
  assert.equal((await submissionsOf(form)).length, 1);
  assert.equal((await query(`select 1 from content.form_files where form_id = ${form.id}`)).length, 1);
  assert.equal((await filesIn("kept")).length, kept + 1);
});

test("a form without script takes a file and leads to its message, and shows what is wrong with it", async () => {
  const form = await newForm([file("cv", { isRequired: true })]);
  const page = await visitor(baseUrl).ask(`/form/${form.id}`);
  assert.match(page.text, /enctype="multipart\/form-data"/);
  assert.match(page.text, /type="file"[^>]*accept="\.pdf,\.png,\.txt,\.docx"/);
  const wrong = await send(form, [filePart("cv", "cv.pdf", PNG)], "/form/submit");
  assert.equal(wrong.status, 400);
  assert.match(wrong.text, /This is no pdf file\./);
  assert.equal((await send(form, [filePart("cv", "cv.pdf", PDF)], "/form/submit")).status, 302);
});

test("a file that breaks off leaves nothing; one whose process is killed goes with the sweep, as bytes without a row do", async () => {
  const form = await newForm([file("cv")]);
  const begin = async () => {
    const { hostname, port } = new URL(baseUrl);
    const socket = connect(Number(port), hostname).on("error", () => undefined);
    const head = multipart(filePart("cv", "cv.pdf", PDF)).subarray(0, -BOUNDARY.length - 8);
    socket.write(
      `POST /form/submit?formId=${form.id} HTTP/1.1\r\nhost: localhost\r\ncontent-type: ${MULTIPART}\r\ncontent-length: 1000000\r\n\r\n`,
    );
    socket.write(Buffer.concat([head, Buffer.alloc(200_000)]));
    await eventually(async () => assert.equal((await filesIn("arriving")).length, 1));
    return socket;
  };
  await withoutTrace(form, async () => (await begin()).destroy());
  const socket = await begin();
  const content = stack.process("content");
  content.kill("SIGKILL");
  await content.exited;
  socket.destroy();
  // Two days pass.
  const old = new Date(Date.now() - 2 * 86_400_000);
  const [name = ""] = await filesIn("arriving");
  await utimes(join(stack.filesFolder, "arriving", name), old, old);
  const orphan = join(stack.filesFolder, "kept", "00", `${"0".repeat(32)}.bin`);
  await mkdir(join(orphan, ".."), { recursive: true });
  await writeFile(orphan, "nobody's");
  for (const entry of await filesIn("kept"))
    await utimes(join(stack.filesFolder, "kept", entry.slice(0, 2), entry), old, old);
  const owned = (await query("select name from content.form_files")).map(({ name }) => String(name));
  await query("update content.jobs set due_at = now() where kind = 'file_sweep'");
  await content.restart();
  await eventually(async () => {
    assert.deepEqual(await filesIn("arriving"), []);
    assert.deepEqual((await filesIn("kept")).toSorted(), owned.toSorted());
  });
});

test("a submission that was answered has its file after a kill", async () => {
  const form = await newForm([file("cv")]);
  assert.equal((await send(form, [filePart("cv", "cv.pdf", PDF)])).json.success, 1);
  const content = stack.process("content");
  content.kill("SIGKILL");
  await content.exited;
  await content.restart();
  await eventually(async () => {
    const [submission] = (await submissionsOf(form)) as [Any];
    assert.equal((await download(form, submission.id, "cv")).text, PDF.toString());
  });
});

test("the bytes of a contact's files go with the contact, those of a form with the form, and counts stay", async () => {
  const form = await newForm([MAIL, file("cv")]);
  const namesOf = async () =>
    (await query(`select name from content.form_files where form_id = ${form.id}`)).map(({ name }) => name);
  for (const mail of ["gone@files.example", "stays@files.example"])
    await send(form, [textPart("mail", mail), filePart("cv", `${mail}.pdf`, PDF)]);
  const contactId = await eventually(async () => {
    const found = (await submissionsOf(form)).find(({ results }) => results.mail === "gone@files.example");
    assert.ok(found.lead?.id);
    return found.lead.id;
  });
  const before = await namesOf();
  assert.equal((await api("DELETE", `contacts/${contactId}/delete`)).status, 200);
  const left = await eventually(async () => {
    const names = await namesOf();
    assert.equal(names.length, 1);
    const onDisk = await filesIn("kept");
    assert.deepEqual(
      before.filter((name) => onDisk.includes(String(name))),
      names,
    );
    return names;
  });
  const submissions = await submissionsOf(form);
  assert.equal(submissions.length, 1);
  assert.ok(!JSON.stringify(submissions).includes("gone@files.example.pdf"));
  assert.deepEqual(await query(`select bytes::int from content.form_file_bytes where form_id = ${form.id}`), [
    { bytes: PDF.length },
  ]);
  assert.equal((await api("DELETE", `forms/${form.id}/delete`)).status, 200);
  await eventually(async () => {
    assert.deepEqual(await namesOf(), []);
    assert.ok(!(await filesIn("kept")).includes(String(left[0])));
  });
});

test("large files pass without being held in memory", async () => {
  const form = await newForm([file("cv")]);
  const { pid } = stack.process("content");
  const resident = async () => {
    const [, kilobytes = "0"] = /VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, "utf8")) ?? [];
    return Number(kilobytes) * 1_024;
  };
  const large = Buffer.concat([PDF, Buffer.alloc(BYTES_MAX - 10_000)]);
  const sendAll = () =>
    Promise.all(Array.from({ length: 20 }, () => send(form, [filePart("cv", "cv.pdf", large)])));
  await sendAll();
  const before = await resident();
  for (const { json } of await sendAll()) assert.equal(json.success, 1);
  assert.ok((await resident()) - before < 100_000_000, "80 MB at once twice, and no more");
  const [one = ""] = await filesIn("kept");
  assert.ok((await stat(join(stack.filesFolder, "kept", one.slice(0, 2), one))).size > 0);
});
