/** Faults over HTTP, for tests in other languages. Authorization protects their path as any other: it is a nonResourceURL. */
import type { Endpoint, EndpointRule } from '../http/endpoints.ts'
import { bytesResponse, type Request, type Response } from '../http/message.ts'
import { LIMITS } from '../lib/limits.ts'
import { badRequest, methodNotAllowed, StatusError, tooLarge } from '../schema/status-error.ts'
import type { Faults } from './faults.ts'
import { FaultError } from './read-fault.ts'

export const faultsEndpoint = (faults: Faults, path: string): EndpointRule => ({ path, below: true, answer: answerTo(faults, path) })

const answerTo =
  (faults: Faults, base: string): Endpoint =>
  async (request, { path }) => {
    const id = path.slice(base.length + 1)
    try {
      return id === '' ? await answerAll(faults, request) : answerOne(faults, id, request)
    } catch (error) {
      if (error instanceof FaultError) throw badRequest(error.message)
      throw error
    }
  }

async function answerAll(faults: Faults, request: Request): Promise<Response> {
  switch (request.method) {
    case 'GET':
    case 'HEAD':
      break
    case 'POST':
      return json(201, faults.addWritten(await readJson(request)))
    case 'PUT': {
      const { list, seed } = readAll(await readJson(request))
      faults.replaceAll(list, seed)
      break
    }
    case 'DELETE':
      faults.clear()
      break
    default:
      throw methodNotAllowed()
  }
  return json(200, { seed: faults.currentSeed, faults: faults.report() })
}

function answerOne(faults: Faults, id: string, { method }: Request): Response {
  const found = faults.report().find(fault => fault.id === id)
  if (!found) throw new StatusError(404, 'NotFound', `there is no fault ${JSON.stringify(id.slice(0, LIMITS.faults.textLength))}`)
  if (method === 'DELETE') faults.remove(id)
  else if (method !== 'GET' && method !== 'HEAD') throw methodNotAllowed()
  return json(200, found)
}

/** `{ "seed": 42, "faults": [ … ] }`. */
function readAll(value: unknown): { readonly list: readonly unknown[]; readonly seed: number } {
  const { seed = 1, faults, ...others } = (value ?? {}) as Record<string, unknown>
  if (!Array.isArray(faults) || Object.keys(others).length > 0)
    throw new FaultError('a PUT replaces all faults; its body is { "seed": 42, "faults": [ … ] }, the seed being optional')
  if (!Number.isSafeInteger(seed)) throw new FaultError('seed must be a whole number')
  return { list: faults, seed: seed as number }
}

/** Reads the body, whatever its media type: curl sends a form by default. */
async function readJson(request: Request): Promise<unknown> {
  const bytes = await request.readBody(LIMITS.faults.bodyBytes)
  if (bytes === undefined) throw tooLarge(`Request entity too large: limit is ${LIMITS.faults.bodyBytes}`)
  try {
    return JSON.parse(Buffer.from(bytes).toString())
  } catch (error) {
    throw badRequest(`the body is not JSON: ${(error as Error).message}`)
  }
}

const json = (status: number, value: object): Response =>
  bytesResponse(status, 'application/json', Buffer.from(`${JSON.stringify(value)}\n`))
