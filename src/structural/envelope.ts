/** A schema with what rules may always see of a whole object: its version, its kind and its name. */
import { DNS1123_SUBDOMAIN_MAX_LENGTH } from '../lib/names.ts'
import { compileSchema, type Structural } from './schema.ts'

const known = new WeakMap<Structural, Structural>()

/** The schema with version, kind, `metadata.name` and `metadata.generateName`, and nothing else of the metadata. */
export function withEnvelope(schema: Structural): Structural {
  if (hasEnvelope(schema)) return schema
  let whole = known.get(schema)
  if (whole === undefined) known.set(schema, (whole = addEnvelope(schema)))
  return whole
}

function hasEnvelope({ properties }: Structural): boolean {
  const metadata = properties.get('metadata')
  const named = [
    properties.get('kind'),
    properties.get('apiVersion'),
    metadata?.properties.get('name'),
    metadata?.properties.get('generateName'),
  ]
  return metadata?.types[0] === 'object' && named.every(part => part?.types[0] === 'string')
}

function addEnvelope(schema: Structural): Structural {
  const stated = schema.properties.get('metadata')?.properties
  const text = compileSchema({ type: 'string' })
  const named = (name: string, max: number) =>
    ({ type: 'string', maxLength: Math.min(max, stated?.get(name)?.limits.maxLength ?? max) }) as const
  const metadata = compileSchema({
    type: 'object',
    properties: {
      name: named('name', DNS1123_SUBDOMAIN_MAX_LENGTH),
      // The generated part of a name has at least one character.
      generateName: named('generateName', DNS1123_SUBDOMAIN_MAX_LENGTH - 1),
    },
  })
  const properties = new Map(schema.properties).set('kind', text).set('apiVersion', text).set('metadata', metadata)
  return { ...schema, properties }
}
