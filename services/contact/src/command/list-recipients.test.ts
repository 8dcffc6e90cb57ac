import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { backgroundDeadline } from "@tidings/database/database";
import { segmentScene } from "../testing/segment-scene.ts";
import { listRecipients } from "./list-recipients.ts";

let scene: Awaited<ReturnType<typeof segmentScene>>;
let segmentId: number;
let ids: number[];
before(async () => {
  scene = await segmentScene();
  ids = [];
  for (let index = 0; index < 10; index += 1)
    ids.push(await scene.addContact({ email: `reader${index}@example.com` }));
  const { id } = await scene.addSegment([]);
  segmentId = id;
  await scene.query(
    "insert into segment_contacts (segment_id, contact_id, manually_added, date_added) select $1::integer, unnest($2::integer[]), true, now()",
    [segmentId, ids],
  );
});
after(() => scene.close());

const slice = (asked: { size?: number; after?: number; chosenContactIds?: number[]; upTo?: number }) => {
  const first = {
    after: 0,
    size: 4,
    chosenContactIds: [],
    upTo: 0,
    excludedSegmentIds: [],
    channel: "email",
  };
  return listRecipients(
    scene.services.database,
    { ...first, ...asked, segmentIds: [segmentId] },
    backgroundDeadline(),
  );
};
const contactsIn = ({ recipients }: Awaited<ReturnType<typeof listRecipients>>) =>
  recipients.map(({ contactId }) => contactId);

test("slices lead on from one to the next, and the last one says so", async () => {
  const seen: number[] = [];
  let next = 0;
  do {
    const found = await slice({ after: next });
    seen.push(...contactsIn(found));
    next = found.next;
  } while (next !== 0);
  assert.deepEqual(seen, ids);
});

test("contacts that were chosen already do not count for the size of a slice", async () => {
  const found = await slice({ chosenContactIds: ids.slice(0, 7) });
  assert.deepEqual([contactsIn(found), found.next], [ids.slice(7), 0]);
});

test("a slice ends at the last contact that the chosen ones speak of, and the next one begins behind it", async () => {
  const chosenContactIds = [ids[0] ?? 0, ids[5] ?? 0];
  const first = await slice({ size: 10, chosenContactIds, upTo: ids[5] ?? 0 });
  assert.deepEqual([contactsIn(first), first.next], [ids.slice(1, 5), ids[5]]);
  const second = await slice({ size: 10, after: first.next });
  assert.deepEqual([contactsIn(second), second.next], [ids.slice(6), 0]);
});

test("a full slice ends at its last member, however far the chosen ones speak", async () => {
  const found = await slice({ size: 2, chosenContactIds: [ids[9] ?? 0], upTo: ids[9] ?? 0 });
  assert.deepEqual([contactsIn(found), found.next], [ids.slice(0, 2), ids[1]]);
});
