import { z } from 'zod'

/** Part of a JSON document. */
export type Json = Record<string, unknown>
/** JSON Schema 2020-12, as far as it is looked into here. */
export type Schema = Json & {
  properties?: Record<string, Schema>
  required?: string[]
  anyOf?: Schema[]
  oneOf?: Schema[]
  const?: unknown
  not?: unknown
}
/** The named schemas of the document, by their names. */
export type Schemas = Record<string, Schema>

/** The schema of a type's input or output. A named type becomes a component, also inside another type. */
export function schemaOf(type: z.ZodType, io: 'input' | 'output', schemas: Schemas): Schema {
  const made = z.toJSONSchema(z.array(type), { io, unrepresentable: 'any', target: 'draft-2020-12' })
  const { $defs = {}, items } = JSON.parse(JSON.stringify(made).replaceAll('#/$defs/', '#/components/schemas/')) as {
    $defs?: Schemas
    items: Schema
  }
  for (const [name, { id: _, ...schema }] of Object.entries($defs)) schemas[name] = schema
  return items
}

/** A reference to `schema`, under the name `name`. Variants get names from the value that distinguishes them. */
export function named(name: string, schema: Schema, schemas: Schemas): Schema {
  schemas[name] = schema.oneOf ? choice(name, schema.oneOf, schemas) : schema
  return { $ref: `#/components/schemas/${name}` }
}

function choice(name: string, forms: Schema[], schemas: Schemas): Schema {
  const [propertyName, values] = tellingApart(forms)
  const references = forms.map((form, i) => named(name + pascal(values[i]!), form, schemas))
  const mapping = Object.fromEntries(values.map((value, i) => [value, references[i]!.$ref]))
  return { oneOf: references, discriminator: { propertyName, mapping } }
}

// The property that has a different value in each variant, and these values.
function tellingApart(forms: Schema[]): [string, string[]] {
  const properties = Object.keys(forms[0]?.properties ?? {})
  const name = properties.find((key) => forms.every((form) => typeof form.properties?.[key]?.const === 'string'))!
  return [name, forms.map((form) => form.properties![name]!.const as string)]
}

function pascal(value: string): string {
  return value.replaceAll(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase())
}

/** A schema without some properties, which are in the path or a header, and without those that accept no value. */
export function without(schema: Schema, names: string[]): Schema {
  const { properties, required, ...rest } = schema
  const branches = (key: 'anyOf' | 'oneOf') => (rest[key] ? { [key]: rest[key].map((one) => without(one, names)) } : {})
  const isNamed = ([name, { not }]: [string, Schema]) => !names.includes(name) && not === undefined
  return {
    ...rest,
    ...branches('anyOf'),
    ...branches('oneOf'),
    ...(properties ? { properties: Object.fromEntries(Object.entries(properties).filter(isNamed)) } : {}),
    ...(required ? { required: required.filter((name) => !names.includes(name)) } : {}),
  }
}
