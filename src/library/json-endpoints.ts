/** The parts of endpoints below `/keelson/v1`: methods, bodies of JSON, and answers. */
import { bytesResponse, type Request, type Response } from '../http/message.ts'
import { isObject } from '../lib/json-value.ts'
import { LIMITS } from '../lib/limits.ts'
import { badRequest, methodNotAllowed, tooLarge } from '../schema/status-error.ts'

export type Handle = (request: Request, query: URLSearchParams) => Promise<Response>
export type Methods = Readonly<Record<string, Handle>>

/** The handler of a request's method. Throws StatusError. */
export function choose(methods: Methods, { method }: Request): Handle {
  const handle = methods[method === 'HEAD' ? 'GET' : method]
  if (!handle || !Object.hasOwn(methods, method === 'HEAD' ? 'GET' : method)) throw methodNotAllowed()
  return handle
}

/** The fields of a body, which may be empty. Throws StatusError for others than these. */
export async function readFields<Name extends string>(
  request: Request,
  names: readonly Name[],
): Promise<{ readonly [K in Name]?: unknown }> {
  const text = Buffer.from(await bodyOf(request, MAX_FIELDS_BYTES)).toString()
  if (text.trim() === '') return {}
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw badRequest(`the body is not JSON: ${(error as Error).message}`)
  }
  if (!isObject(value)) throw badRequest('the body must be a JSON object')
  const unknown = Object.keys(value).find(key => !names.includes(key as Name))
  if (unknown !== undefined)
    throw badRequest(`unknown field ${JSON.stringify(unknown.slice(0, LIMITS.faults.textLength))}; there are: ${names.join(', ')}`)
  return value as { readonly [K in Name]?: unknown }
}

const MAX_FIELDS_BYTES = 64 << 10

/** The whole body. Throws StatusError for one that is longer. */
export async function bodyOf(request: Request, limit: number): Promise<Uint8Array> {
  const bytes = await request.readBody(limit)
  if (bytes === undefined) throw tooLarge(`Request entity too large: limit is ${limit}`)
  return bytes
}

export const json = (status: number, value: object): Response =>
  bytesResponse(status, 'application/json', Buffer.from(`${JSON.stringify(value)}\n`))
