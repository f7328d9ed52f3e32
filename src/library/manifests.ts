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

/** The files of a path: itself, or those of a folder, and of the folders below it where that is wanted. Throws ManifestError. */
export function filesOf(path: string, { isDeep = false } = {}): string[] {
  if (!attempt(path, () => statSync(path).isDirectory())) return [path]
  return readdirSync(path, { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap(entry => {
      const inner = join(path, entry.name)
      if (!entry.isDirectory()) return EXTENSIONS.test(entry.name) ? [inner] : []
      return isDeep && !entry.name.startsWith('.') && entry.name !== 'node_modules' ? filesOf(inner, { isDeep }) : []
    })
}

export type ManifestText = {
  readonly text: string
  /** The line of the file on which it begins, counted from one. */
  readonly firstLine: number
}

/** The documents of a file that hold more than comments. Throws ManifestError. */
export function documentsIn(path: string): ManifestText[] {
  let line = 1
  // A line that begins with three dashes ends a document, whatever its context, as in kubectl.
  const parts = attempt(path, () => readFileSync(path, 'utf8')).split(/^(---(?=\s|$).*)$/m)
  return parts.flatMap((text, index) => {
    const firstLine = line
    line += text.split('\n').length - 1
    const isSeparator = index % 2 === 1
    return isSeparator || /^\s*(#.*\s*)*$/.test(text) ? [] : [{ text, firstLine }]
  })
}

const readFile = (path: string): Manifest[] =>
  documentsIn(path).flatMap(({ text }) => unlisted(attempt(path, () => parseYaml(text).value) as JsonObject, path))

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
