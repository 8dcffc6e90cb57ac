import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { PageSchema } from "@tidings/proto/tidings/content/v1/page";
import { jsonBytes } from "@tidings/resource/json-member";
import { chooseTranslation } from "../family/choose-translation.ts";
import { chooseVariant } from "./choose-page.ts";
import type { PageRow } from "./find-page.ts";

const pageOf = (
  id: number,
  members: { weight?: number; variantHits?: number; language?: string } = {},
): PageRow =>
  Object.assign(
    create(PageSchema, {
      id,
      variantHits: members.variantHits ?? 0,
      language: members.language ?? "en",
      variantSettings: jsonBytes(members.weight === undefined ? [] : { weight: String(members.weight) }),
    }),
    { version: 1, isOpen: true, isWithinDates: true, categoryAlias: undefined },
  );

test("variants are shown in the proportion of their weights, whatever came first", () => {
  const page = pageOf(1);
  const variants = [pageOf(2, { weight: 30 }), pageOf(3, { weight: 20 })];
  for (let visit = 0; visit < 1_000; visit += 1) {
    const shown = chooseVariant({ page, variants }, undefined);
    shown.variantHits = (shown.variantHits ?? 0) + 1;
  }
  assert.deepEqual(
    [page, ...variants].map(({ variantHits }) => variantHits),
    [500, 300, 200],
  );
});

test("a choice stays, while the variant takes part", () => {
  const page = pageOf(1, { variantHits: 0 });
  const variants = [pageOf(2, { weight: 1, variantHits: 50 })];
  assert.equal(chooseVariant({ page, variants }, 2).id, 2);
  assert.equal(chooseVariant({ page, variants }, 9).id, 1);
  assert.equal(chooseVariant({ page, variants: [] }, 2).id, 1);
});

test("a translation is chosen by the languages in their order, by the language alone where the region differs", () => {
  const page = pageOf(1);
  const translations = [pageOf(2, { language: "de" }), pageOf(3, { language: "fr_CA" })];
  const chosen = (...languages: string[]) => chooseTranslation(page, translations, languages)?.id;
  assert.equal(chosen("de-AT", "en"), 2);
  assert.equal(chosen("fr-FR"), 3);
  assert.equal(chosen("en-GB", "de"), undefined);
  assert.equal(chosen("es", "de"), 2);
  assert.equal(chosen("es"), undefined);
  assert.equal(chosen(), undefined);
});
