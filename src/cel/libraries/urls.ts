/** URLs: url, isURL and the parts of a URL. */

import { checkRequestUri, type ParsedUrl, parseRequestUri, UrlError } from '../../lib/url.ts'
import type { Library } from '../checker/library.ts'
import { boolType, listType, mapType, objectType, stringType } from '../checker/types.ts'
import { type CelFault, CelOpaque, type CelValue, listOf, mapOf, noSuchOverload } from '../runtime/values.ts'
import { traversal, unitCost } from './call-costs.ts'
import { attempt, fn, global, member } from './declare.ts'

export const urlType = objectType('kubernetes.URL')

/** A URL as a value. */
class UrlValue extends CelOpaque {
  readonly type = urlType
  readonly url: ParsedUrl
  constructor(url: ParsedUrl) {
    super()
    this.url = url
  }
  equalTo(other: CelValue): boolean | CelFault {
    return other instanceof UrlValue ? other.url.text === this.url.text : noSuchOverload
  }
}

const part = (name: string, id: string, read: (url: ParsedUrl) => string) =>
  fn(
    name,
    member({ id, params: [urlType], result: stringType, cost: unitCost }, (value: UrlValue) => read(value.url)),
  )

export const urlsLibrary = (): Library => ({
  functions: [
    fn('url', global({ id: 'string_to_url', params: [stringType], result: urlType, cost: traversal }, parse)),
    fn('isURL', global({ id: 'is_url_string', params: [stringType], result: boolType }, isUrl)),
    part('getScheme', 'url_get_scheme', url => url.scheme),
    part('getHost', 'url_get_host', url => url.host),
    part('getHostname', 'url_get_hostname', url => url.hostname),
    part('getPort', 'url_get_port', url => url.port),
    part('getEscapedPath', 'url_get_escaped_path', url => url.escapedPath),
    fn(
      'getQuery',
      member(
        { id: 'url_get_query', params: [urlType], result: mapType(stringType, listType(stringType)), cost: unitCost },
        ({ url }: UrlValue) => mapOf([...url.query].map(([key, values]) => [key, listOf(values)] as const)),
      ),
    ),
  ],
})

const parse = (text: string): CelValue =>
  attempt(
    () => new UrlValue(parseRequestUri(text)),
    message => `URL parse error during conversion from string: ${message}`,
  )

function isUrl(text: string): CelValue {
  try {
    checkRequestUri(text)
    return true
  } catch (error) {
    if (error instanceof UrlError) return false
    throw error
  }
}
