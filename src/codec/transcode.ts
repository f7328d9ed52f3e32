/** Turns bodies that are expensive to read (YAML, large protobuf) into JSON. Pure, so that it can run in a worker. */

import { StatusError } from '../schema/status-error.ts'
import type { AnyType } from '../schema/types.ts'
import type { ValueLimit } from './decoded-size.ts'
import { stringifyJson } from './json.ts'
import { fromProtobuf } from './protobuf-decode.ts'
import { ProtobufError } from './protobuf-reader.ts'
import { parseYaml, YamlError } from './yaml.ts'

/** A body to read; the type of a message has to be portable to be sent to a worker (`portable-type.ts`). */
export type TranscodeJob =
  | { readonly format: 'yaml'; readonly bytes: Uint8Array; readonly limit: ValueLimit }
  | { readonly format: 'protobuf'; readonly bytes: Uint8Array; readonly limit: ValueLimit; readonly type: AnyType }

/** The same as JSON, or why it cannot be that. */
export type Transcoded =
  | { readonly outcome: 'json'; readonly json: Uint8Array; readonly strictError?: string | undefined }
  | { readonly outcome: 'malformed'; readonly message: string }
  | { readonly outcome: 'too-large'; readonly message: string }

export function transcode(job: TranscodeJob): Transcoded {
  try {
    if (job.format === 'protobuf') return { outcome: 'json', json: Buffer.from(stringifyJson(messageOf(job))) }
    const { value, strictError } = parseYaml(job.bytes, job.limit)
    return { outcome: 'json', json: Buffer.from(stringifyJson(value)), strictError }
  } catch (error) {
    if (error instanceof StatusError) return { outcome: 'too-large', message: error.message }
    if (error instanceof YamlError) return { outcome: 'malformed', message: error.detail }
    if (error instanceof ProtobufError) return { outcome: 'malformed', message: error.message }
    throw error
  }
}

const messageOf = ({ type, bytes, limit: { values } }: Extract<TranscodeJob, { format: 'protobuf' }>) =>
  fromProtobuf(type, bytes, { values })
