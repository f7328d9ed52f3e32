/** The object in the body of a request, as the object of a write. */
import { encodeObject } from '../codec/stored-bytes.ts'
import { copyJson } from '../lib/json-value.ts'
import type { Step } from '../lib/step.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import { EMPTY_BODY } from './api.ts'
import { type Decoded, decodeObject, type Expected } from './decode.ts'
import { checkIdentity, settleNamespace, wipeIdentity } from './identity.ts'
import { setDefaults } from './strategy.ts'
import type { Write } from './write-value.ts'

/** Takes a new object, without metadata that only the server sets. */
export function* takeNew(write: Write): Step<void> {
  const { object } = yield* takeSent(write)
  settleNamespace(write.call, object)
  wipeIdentity(object)
}

/** Takes an object that replaces the one of the path. */
export function* takeReplacement(write: Write): Step<void> {
  const { object } = yield* takeSent(write)
  checkIdentity(write.call, object)
}

/** The JSON of a sent object with its defaults. */
function completed({ kind, ctx }: Write, sent: AnyObject): string {
  const object = copyJson(sent)
  setDefaults(kind, object, ctx)
  return encodeObject(object).toString()
}

/** Takes an object as it was sent, and warns of its mistakes. */
export function* takeSent(write: Write, expected: Expected = write.kind): Step<Decoded> {
  const { body = EMPTY_BODY, options, deps } = write
  const decoded = yield* decodeObject(expected, body, options.fieldValidation, deps.findKind)
  write.warnings.push(...decoded.warnings)
  write.object = decoded.object
  write.ctx.sent?.object(decoded.object, () => completed(write, decoded.object))
  return decoded
}
