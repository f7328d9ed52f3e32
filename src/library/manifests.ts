/** Manifests: files and folders of YAML and JSON, as kubectl reads them. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parseYaml } from '../codec/yaml.ts'
import { isObject, type JsonObject } from '../lib/json-value.ts'

/** Manifests that cannot be read; the message names the file. */
export class ManifestError extends Error {
  override readonly name = 'ManifestError'
}

export type Manifest = {
  readonly object: JsonObject
  /** Its origin, for messages. */
  readonly source: string
}

/** Objects, and those in files and folders; lists are expanded. */
export function readManifests(sources: readonly (string | object)[]): Manifest[] {
  return sources.flatMap(source =>
    typeof source === 'string' ? filesOf(source).flatMap(readFile) : unlisted(source as JsonObject, 'an object'),
  )
}

const EXTENSIONS = /\.(ya?ml|json)$/

function filesOf(path: string): string[] {
  const isFolder = attempt(path, () => statSync(path).isDirectory())
  if (!isFolder) return [path]
  return readdirSync(path)
    .filter(name => EXTENSIONS.test(name))
    .sort()
    .map(name => join(path, name))
}

function readFile(path: string): Manifest[] {
  const text = attempt(path, () => readFileSync(path, 'utf8'))
  // A line that begins with three dashes ends a document, whatever its context, as in kubectl.
  return text.split(/^---(?=\s|$).*$/m).flatMap(document => {
    if (/^\s*(#.*\s*)*$/.test(document)) return []
    return unlisted(attempt(path, () => parseYaml(document).value) as JsonObject, path)
  })
}

function unlisted(object: JsonObject, source: string): Manifest[] {
  if (!isObject(object) || typeof object['apiVersion'] !== 'string' || typeof object['kind'] !== 'string')
    throw new ManifestError(`${source}: every object needs an apiVersion and a kind`)
  if (!object['kind'].endsWith('List') || !Array.isArray(object['items'])) return [{ object, source }]
  return object['items'].flatMap(item => unlisted(item as JsonObject, source))
}

function attempt<T>(path: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new ManifestError(`${path}: ${(error as Error).message}`)
  }
}
