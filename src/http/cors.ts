/** Cross-origin requests of browsers: pages of configured origins may use the API, as kube-apiserver's `--cors-allowed-origins` has it. */
import { type LinearRegex, linearRegex } from '../lib/linear-regex.ts'
import { type MaybePromise, whenDone } from '../lib/maybe-promise.ts'
import type { Handler } from './exchange.ts'
import { header, type Request, type Response, type ResponseHeaders } from './message.ts'

const HELP =
  "List of allowed origins for CORS, comma separated. An allowed origin can be a regular expression to support subdomain matching. If this list is empty CORS will not be enabled. Please ensure each expression matches the entire hostname by anchoring to the start with '^' or including the '//' prefix, and by anchoring to the end with '$' or including the ':' port separator suffix. Examples of valid expressions are '//example\\.com(:|$)' and '^https://example\\.com(:|$)'"

/** The mistakes in expressions of origins, in kube-apiserver's words. */
export function* corsProblems(patterns: readonly string[]): Iterable<string> {
  for (const pattern of patterns) {
    if (pattern === '') yield `empty value in --cors-allowed-origins, help: ${HELP}`
    else {
      const problem = patternProblem(pattern)
      if (problem !== undefined) yield `--cors-allowed-origins has an invalid regular expression: ${problem}, help: ${HELP}`
    }
  }
}

/** An expression that is not pinned to both ends of the host would allow hosts that merely contain it. */
function patternProblem(pattern: string): string | undefined {
  try {
    linearRegex(pattern)
  } catch (error) {
    return (error as Error).message
  }
  const isPinned = /\^|\/\//.test(pattern) && /[$:]/.test(pattern)
  return isPinned ? undefined : 'regular expression does not pin to start/end of host in the origin header'
}

const COMMON: ResponseHeaders = {
  'access-control-allow-methods': 'POST, GET, OPTIONS, PUT, DELETE, PATCH',
  'access-control-allow-headers':
    'Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, If-Modified-Since',
  'access-control-expose-headers': 'Date',
  'access-control-allow-credentials': 'true',
}

export class Cors {
  readonly #origins: readonly LinearRegex[]

  /** Throws for expressions that do not compile. */
  constructor(patterns: readonly string[]) {
    this.#origins = patterns.map(linearRegex)
  }

  /** The origin of a request, if its pages may use the API. */
  originOf({ headers }: Pick<Request, 'headers'>): string | undefined {
    const origin = header(headers, 'origin')
    return origin && this.#origins.some(each => each.test(origin)) ? origin : undefined
  }
}

/** Adds the headers that let a page of an allowed origin read the response, and answers its preflight requests. */
export const shareWithOrigins =
  (next: Handler, { cors }: { readonly cors?: Cors | undefined }): Handler =>
  exchange => {
    const origin = cors?.originOf(exchange.request)
    if (origin === undefined) return next(exchange)
    const headers = { 'access-control-allow-origin': origin, ...COMMON }
    const answered: MaybePromise<Response> =
      exchange.request.method === 'OPTIONS' ? { status: 204, headers: {}, body: new Uint8Array(0) } : next(exchange)
    return whenDone(answered, response => ({ ...response, headers: { ...headers, ...response.headers } }))
  }
