/** Apply: a manager's whole configuration merged into the object, created where it is absent. */
import { isObject, type JsonObject, jsonTypeName } from '../lib/json-value.ts'
import { type Applied, applyConfiguration } from '../patch/apply.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import { badRequest, notFound, StatusError } from '../schema/status-error.ts'
import type { Body, Call, CallContext, Result } from './api.ts'
import { change, checkIdentity } from './change.ts'
import { createObject } from './create.ts'
import { transcodedOf } from './decode.ts'
import type { Deps } from './deps.ts'
import type { WriteOptions } from './options.ts'
import { setManagers, writeOf } from './ownership.ts'
import { conformPatched } from './patched.ts'
import { setDefaults } from './strategy.ts'

type Application = { readonly call: Call; readonly ctx: CallContext; readonly options: WriteOptions; readonly body: Body }

export async function applyPatch(deps: Deps, application: Application): Promise<Result> {
  const { call, ctx, options } = application
  const { applied, strictError } = readConfiguration(application.body)
  const merged = (live: AnyObject | undefined) => {
    const { object, managers } = merge(application, applied, live)
    const { object: conformed, warnings } = conformPatched(call.resource, object, {
      problems: strictProblems(strictError, options),
      validation: options.fieldValidation,
    })
    checkIdentity(call, conformed)
    setDefaults(call.resource, conformed, ctx)
    return { object: conformed, managers, warnings }
  }
  const own = (managers: ReturnType<typeof merge>['managers']) => (object: AnyObject) => setManagers(object, managers)
  let latest: ReturnType<typeof merged>['managers'] = []
  return change(deps, {
    call,
    ctx,
    dryRun: options.dryRun,
    want(stored) {
      const { object, managers, warnings } = merged(stored)
      latest = managers
      return { object, warnings }
    },
    own: object => own(latest)(object),
    async whenAbsent() {
      if (call.subresource !== '') throw notFound(call.resource, call.name)
      await ctx.authorizeCreate?.()
      const { object, managers, warnings } = merged(undefined)
      return createObject(deps, { call, ctx, options, warnings, own: own(managers) }, object)
    },
  })
}

function merge({ call, options, ctx }: Application, applied: JsonObject, live: AnyObject | undefined) {
  const outcome = applyConfiguration({
    ...writeOf(call, { options, ctx }),
    kind: call.resource.kind,
    live: live as unknown as JsonObject | undefined,
    applied,
    force: options.force === true,
  })
  if (!outcome.ok) throw refusedApply(outcome)
  return { object: outcome.object, managers: outcome.managedFields }
}

/** How a configuration that was not applied is answered. */
export const refusedApply = (refused: Exclude<Applied, { ok: true }>): StatusError =>
  refused.reason === 'invalid' ? badRequest(refused.message) : new StatusError(409, 'Conflict', refused.message, { causes: refused.causes })

/** The configuration of an apply, in YAML or JSON; nothing at all is an empty one. */
export function readConfiguration(body: Body): { applied: JsonObject; strictError: string | undefined } {
  const { value, strictError } = transcodedOf(body, undecodable)
  if (value === null) return { applied: {}, strictError }
  if (!isObject(value))
    throw undecodable(
      `error unmarshaling JSON: while decoding JSON: json: cannot unmarshal ${jsonTypeName(value)} into Go value of type map[string]interface {}`,
    )
  return { applied: value, strictError }
}

const undecodable = (why: string) => badRequest(`error decoding patch: ${why}`)

/** What is odd about a configuration that can be applied: fields that it says twice. Strict requests are refused for them. */
export function strictProblems(strictError: string | undefined, { fieldValidation }: WriteOptions): string[] {
  if (strictError === undefined) return []
  const problem = `error converting YAML to JSON: ${strictError}`
  if (fieldValidation === 'Strict') throw badRequest(`error strict decoding patch: ${problem}`)
  return [problem]
}
