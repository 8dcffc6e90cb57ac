import assert from "node:assert/strict";
import { test } from "node:test";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { FormSchema } from "@tidings/proto/tidings/content/v1/form";
import { jsonBytes } from "@tidings/resource/json-member";
import fc from "fast-check";
import { attributesOf, element } from "./attributes.ts";
import { formHtml } from "./html.ts";

const htmlOf = (form: MessageInitShape<typeof FormSchema>) =>
  formHtml(create(FormSchema, { id: 7, name: "Sign Up!", ...form }), {
    publicUrl: "https://www.example",
    prefix: "svc",
  });

/** The names of all attributes of all elements, read as a browser would where nothing is left unescaped. */
function attributeNames(markup: string): string[] {
  return [...markup.matchAll(/<[a-z]+((?: [^\s=>"]+(?:="[^"]*")?)*)>/g)].flatMap(([, text = ""]) =>
    [...text.matchAll(/ ([^\s=>"]+)(?:="[^"]*")?/g)].map(([, name = ""]) => name),
  );
}

test("a form has the structure that scripts and styles of older forms look for", () => {
  const html = htmlOf({
    formAttributes: 'class="wide" onsubmit="steal()"',
    fields: [
      {
        id: 1,
        order: 1,
        alias: "mail",
        label: "E-mail",
        type: "email",
        isRequired: true,
        helpMessage: "Yours",
        inputAttributes: 'class="big" autocomplete=email',
      },
      {
        id: 2,
        order: 2,
        alias: "why",
        label: "Why",
        type: "text",
        parent: 1,
        conditions: jsonBytes({ expr: "in", any: true, values: [] }),
      },
      {
        id: 3,
        order: 3,
        alias: "next",
        label: "Next",
        type: "pagebreak",
        properties: jsonBytes({ next_page_label: "On" }),
      },
      { id: 4, order: 4, alias: "send", label: "Send", type: "button" },
    ],
  });
  for (const part of [
    '<div id="svcform_wrapper_signup" class="svcform_wrapper"><form ',
    'id="svcform_signup" method="post" action="https://www.example/form/submit?formId=7" enctype="multipart/form-data" data-svc-form="signup"',
    '<div class="svcform-innerform"><div class="svcform-page-wrapper svcform-page-1" data-svc-form-page="1">',
    'id="svcform_signup_mail" class="svcform-row svcform-email svcform-field-1 svcform-required" data-validate="mail" data-validation-type="email"',
    '<label class="svcform-label" for="svcform_input_signup_mail">E-mail</label>',
    'id="svcform_input_signup_mail" name="svcform[mail]"',
    'class="svcform-input big"',
    'aria-required="true" aria-describedby="svcform_help_signup_mail svcform_error_signup_mail"',
    'data-svc-form-show-on="mail:*"',
    'data-svc-form-page="2"',
    ">On</button>",
    '<button type="submit" name="svcform[send]"',
    'name="svcform[formId]" id="svcform_signup_id" value="7"',
    'name="svcform[formName]" id="svcform_signup_name" value="signup"',
  ])
    assert.ok(html.includes(part), `${part}\n${html}`);
  assert.ok(!html.includes("onsubmit") && !html.includes("<style>"));
  assert.ok(htmlOf({ renderStyle: true }).startsWith("<style>"));
  assert.ok(htmlOf({ name: "???" }).includes('id="svcform_form-7"'));
});

/** Texts that break out of texts, attributes, elements and scripts. */
const hostile = fc.oneof(
  fc.constantFrom(
    '"><script>alert(1)</script>',
    "' onfocus='alert(1)' autofocus='",
    "</textarea></select></form><img src=x onerror=alert(1)>",
    "&quot;&#62;<svg/onload=alert(1)>",
    'onclick="alert(1)"',
    'data-a="b" onclick=alert(1) style="x"',
  ),
  fc.string({ unit: fc.constantFrom(...`<>"'=/ &;onclick\n\t\0\`x`), maxLength: 60 }),
);

test("no text of a form leaves its place, in any field type and any member", () => {
  const types =
    `button captcha checkboxgrp companyLookup country date datetime email file hidden number pagebreak password
    radiogrp select tel text textarea url`.split(/\s+/);
  fc.assert(
    fc.property(hostile, fc.constantFrom(...types), (text, type) => {
      const list = { list: [{ label: text, value: text }] };
      const html = htmlOf({
        name: text,
        formAttributes: text,
        fields: [
          {
            id: 1,
            alias: "a",
            type,
            label: text,
            defaultValue: text,
            helpMessage: text,
            validationMessage: text,
            isRequired: true,
            labelAttributes: text,
            inputAttributes: text,
            containerAttributes: text,
            properties: jsonBytes({
              placeholder: text,
              list,
              optionlist: list,
              captcha: text,
              labelAttributes: text,
              next_page_label: text,
              prev_page_label: text,
              allowed_file_extensions: [text],
            }),
          },
          {
            id: 2,
            alias: "b",
            type,
            label: text,
            parent: 1,
            showLabel: false,
            conditions: jsonBytes({ expr: "in", any: false, values: [text] }),
          },
        ],
      });
      const withoutElements = html.replaceAll(/<\/?[a-z]+(?: [^\s=>"]+(?:="[^"]*")?)*>/g, "");
      assert.ok(!/[<>"]/.test(withoutElements), withoutElements);
      assert.ok(!/<(?:script|img|svg)/i.test(html), html);
      assert.deepEqual(
        attributeNames(html).filter((name) => name.startsWith("on")),
        [],
      );
    }),
    { numRuns: 500 },
  );
});

test("only harmless attributes of an author are kept", () => {
  assert.deepEqual(
    attributesOf(`class="a b" DATA-X='1' aria-label=Name required  style="color: red" placeholder`),
    {
      class: "a b",
      "data-x": "1",
      "aria-label": "Name",
      style: "color: red",
      placeholder: true,
    },
  );
  assert.deepEqual(
    attributesOf(`onclick="x" formaction=/a srcdoc="<p>" href=javascript:1 xmlns:on="x" data-`),
    {},
  );
  assert.equal(
    element("p", { id: "own" }, attributesOf('id="other" class="a"')).markup,
    '<p id="own" class="a">',
  );
});

test("attributes are read in time that grows with the text alone", () => {
  for (const bait of ['a="', "a ='", "a =", "data-", "= ", '"', "a\t"]) {
    const started = performance.now();
    attributesOf(bait.repeat(50_000));
    assert.ok(performance.now() - started < 1_000, bait);
  }
});
