import assert from "node:assert/strict";
import { test } from "node:test";
import { isCountry, isRegion } from "./places.ts";

test("countries are known by the names that people, lists and other products write", () => {
  const names = `USA|United States of America|U.S.|us|England|Scotland|UK|United Kingdom|FR|fra|Czechia|Czech Republic|
    Korea, Republic of|The Republic of Korea|Congo, Democratic Republic of the|Democratic Republic of the Congo|
    Republic of the Congo|Åland Islands|Aland Islands|Côte d'Ivoire|Ivory Coast|Saint Kitts and Nevis|
    St. Kitts & Nevis|Bosnia and Herzegovina|Bosnia & Herzegovina|Myanmar|Burma|Hong Kong|Macao|Taiwan|Tahiti|
    Palestinian Territory|Vatican|U.S. Virgin Islands|British Virgin Islands|Cocos (Keeling) Islands|Cocos Islands|
    Bonaire, Saint Eustatius and Saba|Netherlands Antilles|Sao Tome and Principe|Türkiye|Turkey|Eswatini|Swaziland|
    Macedonia|North Macedonia|Russian Federation|Russia|Viet Nam|Vietnam|Brunei Darussalam|Kosovo|Curaçao|Timor-Leste|
    French Southern Territories|Heard Island and McDonald Islands|South Georgia and the South Sandwich Islands|
    British Indian Ocean Territory|United States Minor Outlying Islands|Wallis and Futuna|Isle of Man|Reunion`;
  for (const name of names.split(/\|\s*/)) assert.ok(isCountry(name), name);
  for (const name of ["Atlantis", "", "United", "Republic"]) assert.ok(!isCountry(name), name);
});

test("regions are known by their own name, their English one and their code", () => {
  for (const name of [
    "Bavaria",
    "Bayern",
    "BY",
    "California",
    "CA",
    "US-CA",
    "England",
    "Île-de-France",
    "Catalonia",
  ])
    assert.ok(isRegion(name), name);
  assert.ok(!isRegion("Gondor"));
});
