/** `/statusz` and `/flagz`: what runs here and how it was started, as text for people or as objects of `config.k8s.io`. */
import { CBOR } from '../../codec/cbor.ts'
import { encodeCbor } from '../../codec/cbor-encode.ts'
import { stringifyJson, stringifyPretty } from '../../codec/json.ts'
import type { JsonObject } from '../../lib/json-value.ts'
import { timestampOf } from '../../lib/time.ts'
import { notAcceptable } from '../../schema/status-error.ts'
import { accepts, parseAccept } from '../accept.ts'
import type { EndpointRule } from '../endpoints.ts'
import { statusResponse } from '../error.ts'
import { bytesResponse, header, type Request, type Response } from '../message.ts'
import { isPretty } from '../negotiate.ts'
import { warningHeaders } from '../warning.ts'

export type ZPagesParts = {
  readonly groupDomain: string
  readonly gate: (name: string) => boolean
  readonly now: () => Date
  /** When the process was started. */
  readonly startedAt: Date
  readonly binaryVersion: string
  readonly emulationVersion: string
  /** The version of the language runtime. */
  readonly runtimeVersion: string
  /** The paths that are served. */
  readonly paths: () => readonly string[]
  /** Flags with their values; without them there is no `/flagz`. */
  readonly flags?: Readonly<Record<string, string>> | undefined
  /** A number from 0 up to 1, without 1. */
  readonly random: () => number
}

/** The name of the component, as kube-apiserver has it. */
const COMPONENT = 'apiserver'

/** Separators of names and values. One is picked at random, so that nobody parses the text. */
const SEPARATORS = [':', ': ', '=', ' ']

export function zPages(parts: ZPagesParts): EndpointRule[] {
  const { gate, flags } = parts
  const types: readonly PageType[] = gate('CBORServingAndStorage') ? [...TYPES, CBOR] : TYPES
  const separator = () => SEPARATORS[Math.floor(parts.random() * SEPARATORS.length)]!
  const pages: EndpointRule[] = []
  if (gate('ComponentFlagz') && flags !== undefined) {
    // kube-apiserver composes this text once.
    const text = lazy(() => flagsText(flags, separator()))
    pages.push(page(parts, { name: 'flagz', kind: 'Flagz', types, text, fields: () => ({ flags }) }))
  }
  if (gate('ComponentStatusz')) {
    const text = () => statusText(parts, separator())
    pages.push(page(parts, { name: 'statusz', kind: 'Statusz', types, text, fields: () => statusFields(parts) }))
  }
  return pages
}

type Page = {
  readonly name: string
  readonly kind: string
  /** The media types that it is served in. */
  readonly types: readonly PageType[]
  readonly text: () => string
  readonly fields: () => JsonObject
}

const page = ({ groupDomain }: ZPagesParts, { name, kind, types, text, fields }: Page): EndpointRule => ({
  path: `/${name}`,
  answer: async request => {
    const chosen = chooseForm(request, { kind, types, groupDomain })
    if (chosen === undefined) {
      const refusal = await statusResponse(
        notAcceptable(types),
        request,
        types.filter(type => type !== 'text/plain'),
      )
      return { ...refusal, counted: { resource: name } }
    }
    if (chosen === 'text') {
      const page = bytesResponse(200, 'text/plain; charset=utf-8', Buffer.from(headed(name, text())))
      return { ...page, counted: { resource: name } }
    }
    const object = { kind, apiVersion: `${chosen.group}/${chosen.version}`, metadata: { name: COMPONENT }, ...fields() }
    return structured(object, chosen, name)
  },
})

type Structured = {
  readonly mediaType: Exclude<PageType, 'text/plain'>
  readonly group: string
  readonly version: string
  readonly pretty: boolean
}

const VERSIONS = ['v1alpha1', 'v1beta1']
const DEPRECATED = 'v1alpha1'
type PageType = 'application/json' | 'application/yaml' | 'text/plain' | typeof CBOR
const TYPES: readonly PageType[] = ['application/json', 'application/yaml', 'text/plain']

/** The text for clients that name no object; the object that the Accept header names; undefined where it names neither. */
function chooseForm(
  request: Request,
  { kind, types, groupDomain }: Pick<Page, 'kind' | 'types'> & { readonly groupDomain: string },
): 'text' | Structured | undefined {
  const accept = header(request.headers, 'accept') ?? ''
  if (accept.trim() === '') return 'text'
  for (const clause of parseAccept(accept)) {
    const { params } = clause
    if (params.has('stream') || params.has('sv')) continue
    const isObject = ['as', 'g', 'v'].some(name => params.has(name))
    for (const mediaType of types) {
      if (!accepts(clause, mediaType)) continue
      if (mediaType === 'text/plain') {
        if (!isObject) return 'text'
        continue
      }
      const [group = '', version = ''] = [params.get('g'), params.get('v')]
      // Clients have the group of Kubernetes compiled in, whatever the group domain is.
      const isKnown = (group === `config.${groupDomain}` || group === 'config.k8s.io') && VERSIONS.includes(version)
      if (params.get('as') !== kind || !isKnown) continue
      return { mediaType, group, version, pretty: params.get('pretty') === '1' || isPretty(request, queryOf(request)) }
    }
  }
  return undefined
}

function queryOf({ target }: Request): URLSearchParams {
  const mark = target.indexOf('?')
  return new URLSearchParams(mark === -1 ? '' : target.slice(mark + 1))
}

async function structured(object: JsonObject, { mediaType, group, version, pretty }: Structured, name: string): Promise<Response> {
  const type = `${mediaType};g=${group};v=${version};as=${object['kind']}`
  const isDeprecated = version === DEPRECATED
  const bytes = bytesResponse(200, type, await written(object, mediaType, pretty))
  const response = { ...bytes, counted: { resource: name, group, version, isDeprecated } }
  if (!isDeprecated) return response
  const warning = `This version of the ${name} endpoint is deprecated. Please use a newer version.`
  return { ...response, headers: { ...response.headers, warning: warningHeaders([warning]) } }
}

async function written(object: JsonObject, mediaType: Structured['mediaType'], pretty: boolean): Promise<Buffer> {
  if (mediaType === CBOR) return encodeCbor(object)
  if (mediaType === 'application/yaml') return Buffer.from((await import('../../codec/yaml-writer.ts')).stringifyYaml(object))
  return Buffer.from(pretty ? stringifyPretty(object) : `${stringifyJson(object)}\n`)
}

const headed = (name: string, text: string): string =>
  `\n${COMPONENT} ${name}\nWarning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.\n${text}`

const flagsText = (flags: Readonly<Record<string, string>>, separator: string): string =>
  Object.keys(flags)
    .sort()
    .map(name => `${name}${separator}${flags[name]}\n`)
    .join('')

/** Paths of the API itself, which are no help to find problems. */
const OF_THE_API = new Set(['/apis', '/api', '/openid', '/openapi', '/.well-known'])

/** The first segments of paths, sorted. */
function folders(paths: readonly string[]): string[] {
  const found = new Set(paths.map(path => `/${path.split('/')[1] ?? ''}`))
  return [...found].filter(folder => folder !== '/' && !OF_THE_API.has(folder)).sort()
}

function statusFields({ startedAt, now, runtimeVersion, binaryVersion, emulationVersion, paths }: ZPagesParts): JsonObject {
  return {
    startTime: timestampOf(startedAt),
    uptimeSeconds: upSeconds(startedAt, now()),
    goVersion: runtimeVersion,
    binaryVersion,
    emulationVersion,
    paths: folders(paths()),
  }
}

function statusText({ startedAt, now, runtimeVersion, binaryVersion, emulationVersion, paths }: ZPagesParts, separator: string): string {
  const up = upSeconds(startedAt, now())
  const two = (value: number) => String(value).padStart(2, '0')
  const lines = [
    ['Started', unixDate(startedAt)],
    ['Up', `${Math.floor(up / 3600)} hr ${two(Math.floor(up / 60) % 60)} min ${two(up % 60)} sec`],
    ['Go version', runtimeVersion],
    ['Binary version', binaryVersion],
    ['Emulation version', emulationVersion],
    ['Paths', folders(paths()).join(' ')],
  ]
  return `\n${lines.map(([name, value]) => `${name}${separator} ${value}\n`).join('')}`
}

const upSeconds = (startedAt: Date, now: Date): number => Math.max(0, Math.floor((now.getTime() - startedAt.getTime()) / 1000))

/** A time as `date` prints it. */
function unixDate(time: Date): string {
  const [weekday = '', day = '', month = '', year = '', clock = ''] = time.toUTCString().replace(',', '').split(' ')
  return `${weekday} ${month} ${day.replace(/^0/, ' ')} ${clock} UTC ${year}`
}

function lazy<T>(make: () => T): () => T {
  let made: T | undefined
  return () => (made ??= make())
}
