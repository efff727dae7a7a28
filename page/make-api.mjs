// Makes src/api.ts, the types of the answers of the HTTP API, from the OpenAPI document:
//   millrace openapi | node make-api.mjs          writes src/api.ts
//   millrace openapi | node make-api.mjs --check  exit 1 if src/api.ts differs
// The schema of a namespace's settings is large and the page shows it as JSON only, so it becomes
// `unknown`, as do schemas without a type.
import { readFileSync, writeFileSync } from 'node:fs'

const kOpaque = new Set(['NamespaceSettings'])
const target = new URL('./src/api.ts', import.meta.url)
const document = JSON.parse(readFileSync(0, 'utf8'))

/** The TypeScript type of a JSON Schema; `indent` is that of the line in which the type begins. */
function typeOf(schema, indent) {
  if (schema === true || schema === undefined) return 'unknown'
  if (schema.$ref) return schema.$ref.split('/').pop()
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return unique(choices.map((choice) => typeOf(choice, indent))).join(' | ')
  if (schema.allOf) return schema.allOf.map((part) => typeOf(part, indent)).join(' & ')
  if (Array.isArray(schema.type)) {
    return unique(schema.type.map((type) => typeOf({ ...schema, type }, indent))).join(' | ')
  }
  if (schema.type === 'array') return `Array<${typeOf(schema.items, indent)}>`
  if (schema.type === 'object' || schema.properties) return objectType(schema, indent)
  if (schema.type === 'integer') return 'number'
  return schema.type ?? 'unknown'
}

function objectType(schema, indent) {
  const members = Object.entries(schema.properties ?? {})
  if (members.length === 0) return `Record<string, ${typeOf(schema.additionalProperties, indent)}>`
  const required = new Set(schema.required ?? [])
  const inner = `${indent}  `
  const lines = members.map(([name, member]) => {
    const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)
    const comment = member.description ? `${inner}/** ${oneLine(member.description)} */\n` : ''
    return `${comment}${inner}${key}${required.has(name) ? '' : '?'}: ${typeOf(member, inner)}\n`
  })
  return `{\n${lines.join('')}${indent}}`
}

function unique(texts) {
  return [...new Set(texts)]
}

function oneLine(text) {
  return text.replace(/\s+/g, ' ').replaceAll('*/', '* /')
}

const types = Object.entries(document.components.schemas).map(([name, schema]) => {
  const comment = schema.description ? `/** ${oneLine(schema.description)} */\n` : ''
  return `${comment}export type ${name} = ${kOpaque.has(name) ? 'unknown' : typeOf(schema, '')}\n`
})
const text = `// The types of the HTTP API, made by make-api.mjs from the OpenAPI document: do not edit.\n\n${types.join('\n')}`

if (process.argv.includes('--check')) {
  if (readFileSync(target, 'utf8') !== text) {
    console.error('page/src/api.ts is not that of the OpenAPI document; run: millrace openapi | node page/make-api.mjs')
    process.exit(1)
  }
} else {
  writeFileSync(target, text)
}
