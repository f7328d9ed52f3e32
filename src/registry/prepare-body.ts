/** Converts YAML bodies and large protobuf bodies to JSON before the verb runs. */
import type { ValueLimit } from '../codec/decoded-size.ts'
import { JsonError, parseJson } from '../codec/json.ts'
import { portableType } from '../codec/portable-type.ts'
import { openEnvelope, PROTOBUF } from '../codec/protobuf-envelope.ts'
import { ProtobufError } from '../codec/protobuf-reader.ts'
import type { Transcoded, TranscodeJob } from '../codec/transcode.ts'
import type { Transcoder } from '../codec/worker-transcoder.ts'
import type { Json } from '../lib/json-value.ts'
import { LIMITS } from '../lib/limits.ts'
import { type Step, waitFor } from '../lib/step.ts'
import { tooLarge } from '../schema/status-error.ts'
import type { Body, Call, CallContext, PlainJson } from './api.ts'
import type { Request } from './request.ts'
import { valueLimitsOf } from './value-limits.ts'

/** Whether the body can be decoded as it is. Without a transcoder, protobuf of any size is decoded on the main thread. */
export function isPrepared({ body, deps }: Request): boolean {
  if (!body || body.object) return true
  if (body.mediaType.endsWith('yaml')) return false
  return body.mediaType !== PROTOBUF || body.bytes.byteLength <= LIMITS.inlineProtobufBytes || !deps.transcoder
}

/** The body with its JSON, where it was converted. */
export function* prepareBody({ body, call, ctx, deps }: Request): Step<Body> {
  const { transcoder } = deps
  const limit = valueLimitsOf(call.resource).decoded
  if (body!.mediaType.endsWith('yaml')) return yield* prepareYaml(body!, { limit, ctx, transcoder })
  const raw = messageIn(call, body!.bytes)
  if (!raw) return body!
  const job = { format: 'protobuf', bytes: raw, limit, type: portableType(call.resource.type) } as const
  return yield* withJson(body!, transcoder!.transcode(job, from(ctx)))
}

type Preparing = { readonly limit: ValueLimit; readonly ctx: CallContext; readonly transcoder: Transcoder | undefined }

function* prepareYaml(body: Body, { limit, ctx, transcoder }: Preparing): Step<Body> {
  const { bytes } = body
  const plain = plainJson(bytes, limit)
  if (plain) return { ...body, transcoded: plain }
  const job = { format: 'yaml', bytes, limit } as const
  return yield* withJson(body, transcoder && !isCheap(bytes) ? transcoder.transcode(job, from(ctx)) : transcodeInline(job))
}

/** Most YAML that clients send is JSON: kubectl applies with it. With duplicate keys it is read as YAML, which reports their lines. */
function plainJson(bytes: Uint8Array, limit: ValueLimit): PlainJson | undefined {
  if (!/^\s*\{/.test(Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, 64)).toString('latin1'))) return undefined
  try {
    const { value, duplicates } = parseJson(bytes, { limit })
    return duplicates.length === 0 ? { outcome: 'parsed', take: parsedOnce(value, bytes) } : undefined
  } catch (error) {
    if (error instanceof JsonError) return undefined
    throw error
  }
}

/** Gives the parsed value to the first caller. Objects are made of its parts, so later callers get a value of their own. */
function parsedOnce(value: Json, bytes: Uint8Array): () => Json {
  let first: Json | undefined = value
  return () => {
    const taken = first ?? parseJson(bytes, { trusted: true }).value
    first = undefined
    return taken
  }
}

const ANCHOR = 0x26

/** Every byte of YAML costs a microsecond at most, unless aliases repeat parts of it. */
const isCheap = (bytes: Uint8Array) => bytes.byteLength <= LIMITS.inlineYamlBytes && !bytes.includes(ANCHOR)

const transcodeInline = async (job: TranscodeJob): Promise<Transcoded> => (await import('../codec/transcode.ts')).transcode(job)

function* withJson(body: Body, transcoding: Promise<Transcoded>): Step<Body> {
  const transcoded = yield* waitFor(transcoding)
  if (transcoded.outcome === 'too-large') throw tooLarge(transcoded.message)
  return { ...body, transcoded }
}

/** The message in an envelope that says it is an object of the called resource; others are small, or refused without being read. */
function messageIn({ resource }: Call, bytes: Uint8Array): Uint8Array | undefined {
  try {
    const { kind, apiVersion, raw } = openEnvelope(bytes)
    return kind === resource.kind && apiVersion === resource.apiVersion && !resource.def.custom ? raw : undefined
  } catch (error) {
    if (error instanceof ProtobufError) return undefined
    throw error
  }
}

const from = ({ user, signal }: CallContext) => ({ user: user.name, signal })
