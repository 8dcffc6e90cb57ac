import assert from "node:assert/strict";
import { after, test } from "node:test";
import { exchangeRaw } from "../testing/http.ts";
import { AUTHORIZATION, startScene } from "../testing/scene.ts";

const scene = await startScene();
after(scene.stop);
const head = (method: string, path: string) =>
  `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${AUTHORIZATION}\r\n`;
const statuses = (text: string) =>
  [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));
const json = '{"tag":"a"}';
const CREATE = `${head("POST", "/api/tags/new")}Content-Type: application/json\r\nContent-Length: ${json.length}\r\n`;

for (const expect of ["Expect:", "Expect: ", "Expect: ,"])
  test(`"${expect}" expects nothing (RFC 9110, 10.1.1)`, async () => {
    const { text } = await exchangeRaw(scene.port, `${CREATE}${expect}\r\n\r\n${json}`);
    assert.equal(statuses(text).length, 1, text);
    assert.match(text, /^HTTP\/1\.1 20[01] /);
    assert.match(text, /"tag":"a"/);
  });

test("100-continue is answered before the body comes", async () => {
  const { text } = await exchangeRaw(scene.port, `${CREATE}Expect: 100-continue\r\n\r\n${json}`);
  assert.equal(statuses(text)[0], 100, text);
  assert.equal(statuses(text).length, 2, text);
});

test("an expectation nobody can meet is 417 in the shape of errors, and ends the connection", async () => {
  const { text, isClosed } = await exchangeRaw(scene.port, `${CREATE}Expect: a-pony\r\n\r\n${json}`);
  assert.deepEqual(statuses(text), [417], text);
  assert.match(text, /"errors":\[\{"code":417,"message":"[^"]+"/);
  assert.ok(isClosed);
});

for (const coding of ["xchunked", "identity", "chunked, identity"])
  test(`a body in the coding "${coding}" gets one answer, and its connection is closed`, async () => {
    const request = `${head("POST", "/api/tags/new")}Transfer-Encoding: ${coding}\r\n\r\n0\r\n\r\n`;
    const { text, isClosed } = await exchangeRaw(scene.port, request + head("GET", "/api/tags"));
    assert.deepEqual(statuses(text), [400], text);
    assert.ok(isClosed);
  });
