import assert from "node:assert/strict";
import { test } from "node:test";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { contactSnapshot } from "./row-snapshot.ts";

test("a snapshot has the whole row: columns by their types, parts of other tables, and added fields by their aliases", () => {
  const snapshot = contactSnapshot({
    id: "7",
    version: "3",
    is_published: "t",
    date_added: "2026-01-02 03:04:05.678+00",
    points: "-4",
    attribution: "12.50",
    firstname: "Ada",
    lastname: null,
    custom: '{"50": "r"}',
    colour: "r",
    constructor_name: "x",
    tag_ids: "{1}",
    tags: '[{"id": 1, "tag": "vip", "description": null}]',
    owner_id: "4",
    owner: '{"id": 4, "username": "ada", "createdByUser": null}',
    do_not_contact:
      '{"email": {"id": 3, "reason": 1, "comments": "", "channelId": null, "dateAdded": "2026-01-02T03:04:05+00:00"}}',
    frequency_rules: "{}",
    group_scores: '[{"groupId": 2, "score": 9}]',
    companies: '[{"id": 5, "name": "Bell", "isPrimary": true}]',
    utm_tags: '[{"id": 1, "query": {"a": [1, null]}, "url": null}]',
  });
  assert.equal(snapshot.id, 7);
  assert.equal(
    snapshot.dateAdded && timestampDate(snapshot.dateAdded).toISOString(),
    "2026-01-02T03:04:05.000Z",
  );
  assert.deepEqual([snapshot.points, snapshot.attribution, snapshot.firstname], [-4, 12.5, "Ada"]);
  assert.equal(snapshot.lastname, undefined);
  assert.deepEqual(snapshot.addedFields, { colour: "r", constructor_name: "x" });
  assert.deepEqual(
    snapshot.tags.map(({ tag }) => tag),
    ["vip"],
  );
  assert.equal(snapshot.owner?.username, "ada");
  assert.equal(snapshot.doNotContact.email?.reason, 1);
  assert.deepEqual(snapshot.groupScores[0]?.score, 9);
  assert.equal(snapshot.companies[0]?.isPrimary, true);
  assert.deepEqual(snapshot.utmTags[0]?.query, { a: [1, null] });
});
