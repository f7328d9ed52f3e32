/** A write as admission sees it. */
import type { Attributes, EndListener, Outcome, Reading } from '../admission/attributes.ts'
import type { ResourceName } from '../admission/reader.ts'
import type { Cancellation } from '../lib/cancellation.ts'
import type { Json, JsonObject } from '../lib/json-value.ts'
import type { Step } from '../lib/step.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import type { AnnotationLevel, RequestContext } from '../schema/request-context.ts'
import { keyOf, type Resource } from '../schema/resource.ts'
import { readAdmitted } from './admitted-document.ts'
import type { Call } from './api.ts'
import { setDefaults } from './strategy.ts'
import { convertUnpruned } from './version-conversion.ts'
import type { Write } from './write-value.ts'

/** Made once for each attempt of a write. Rarely needed values are computed on demand. */
export class WriteAttributes implements Attributes {
  object: AnyObject | undefined
  readonly #write: Write
  #listeners: EndListener[] = []

  constructor(write: Write) {
    this.object = write.object
    this.#write = write
  }

  get operation(): Attributes['operation'] {
    const { change, old } = this.#write
    return change.effect === 'delete' ? 'DELETE' : change.effect === 'connect' ? 'CONNECT' : old ? 'UPDATE' : 'CREATE'
  }
  get resource(): Resource {
    return this.#write.admittedAs?.resource ?? this.#write.call.resource
  }
  get subresource(): string {
    return this.#write.admittedAs?.subresource ?? this.#write.call.subresource
  }
  get kind(): Resource {
    return this.#write.kind
  }
  get namespace(): string {
    return this.#write.call.namespace
  }
  get name(): string {
    const { call } = this.#write
    // A deletecollection names no object.
    return call.verb === 'deletecollection' ? '' : call.name || this.object?.metadata.name || ''
  }
  get verb(): string {
    return this.#write.call.verb
  }
  get requestName(): string {
    return this.#write.call.name
  }
  get oldObject(): AnyObject | undefined {
    return this.#write.old
  }
  get options(): JsonObject | undefined {
    const { call, change, ctx, options, old } = this.#write
    if (change.effect === 'connect') return undefined
    if (change.deleteOptions) return { ...change.deleteOptions, kind: 'DeleteOptions', apiVersion: `meta.${ctx.groupDomain}/v1` }
    return optionsObject(old ? 'UpdateOptions' : 'CreateOptions', call, { groupDomain: ctx.groupDomain, dryRun: options.dryRun })
  }
  get dryRun(): boolean {
    return this.#write.options.dryRun
  }
  get ctx(): RequestContext {
    return this.#write.ctx
  }

  get signal(): Cancellation {
    return this.#write.ctx.signal
  }

  get remainingMs(): number | undefined {
    return this.#write.ctx.remainingMs
  }

  *decode(document: Json, version: Resource, reading: Reading = 'lenient'): Step<AnyObject> {
    const { call, kind, ctx, change, deps, old } = this.#write
    // The body of a subresource has one version only.
    const expected = kind === call.resource ? version : kind
    const read = readAdmitted(expected, { document, reading, findKind: deps.findKind, isCreate: !old })
    const object = read.version === expected ? read.object : yield* convertUnpruned(read.object, read.version, expected)
    setDefaults(expected, object, ctx)
    if (change.effect === 'connect') return withoutMetadata(object)
    return expected === kind ? object : yield* convertUnpruned(object, expected, kind)
  }

  convert(object: AnyObject, version: Resource): Step<AnyObject> {
    return convertUnpruned(object, this.kind, version)
  }

  warn(message: string): void {
    this.#write.warnings.push(message)
  }

  annotate(key: string, value: string, level?: AnnotationLevel): void {
    this.#write.ctx.annotate?.(key, value, level)
  }

  needs({ group, version, plural }: ResourceName, { metadata }: AnyObject): void {
    const resource = this.#write.deps.find?.(group, version, plural)
    if (!resource) return
    this.#write.needs = {
      key: keyOf(resource, metadata.namespace ?? '', metadata.name!),
      modified: Number(metadata.resourceVersion),
    }
  }

  onEnd(listener: EndListener): void {
    this.#listeners.push(listener)
  }

  /** Ends the attempt; only the registry does. */
  *end(outcome: Outcome): Step<void> {
    const listeners = this.#listeners
    this.#listeners = []
    for (const listener of listeners) {
      const work = listener(outcome)
      if (work) yield* work
    }
  }
}

/** The options of a connection have none. */
function withoutMetadata({ metadata: _, ...rest }: AnyObject): AnyObject {
  return rest as AnyObject
}

/** The options of a request as an object of their kind; a patch creates or updates, and has theirs. */
function optionsObject(
  kind: 'CreateOptions' | 'UpdateOptions',
  { query }: Call,
  { groupDomain, dryRun }: { readonly groupDomain: string; readonly dryRun: boolean },
): JsonObject {
  const options: JsonObject = { kind, apiVersion: `meta.${groupDomain}/v1` }
  if (dryRun) options['dryRun'] = ['All']
  for (const name of ['fieldManager', 'fieldValidation']) {
    const value = query.get(name)
    if (value) options[name] = value
  }
  return options
}
