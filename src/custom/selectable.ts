/** Fields of custom objects that field selectors may use. */
import type { DefinitionVersion } from '../kinds/apiextensions/definition-shapes.ts'
import { goWholePrint } from '../lib/go-text.ts'
import { parseJsonPath } from '../lib/json-path.ts'
import { findFirst } from '../lib/json-path-search.ts'
import type { Json } from '../lib/json-value.ts'
import type { AnyObject } from '../schema/object-meta.ts'

type Selectable = Readonly<Record<string, (o: AnyObject) => string>>

/** The selectable fields of versions, by their paths without the first dot; undefined when there are none. */
export function selectableFields(versions: readonly DefinitionVersion[]): Selectable | undefined {
  const paths = new Set(
    versions.flatMap(({ selectableFields = [] }) => selectableFields.map(({ jsonPath }) => jsonPath.replace(/^\./, ''))),
  )
  if (paths.size === 0) return undefined
  return Object.fromEntries([...paths].map(path => [path, readerOf(path)]))
}

function readerOf(name: string): (o: AnyObject) => string {
  const path = parseJsonPath(`{.${name}}`)
  return object => {
    const value = findFirst(path, object as unknown as Json)
    return value === undefined || value === null ? '' : goWholePrint(value)
  }
}
