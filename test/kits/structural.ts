/** Validation by structural schemas with a budget for each call, for tests that are not about the budget. */
import type { Json, JsonObject } from '../../src/lib/json-value.ts'
import { Budget } from '../../src/schema/budget.ts'
import { errorsOf, type FieldError, type Ref } from '../../src/schema/refs.ts'
import * as customObject from '../../src/structural/custom-object.ts'
import type { Structural } from '../../src/structural/schema.ts'
import * as validate from '../../src/structural/validate.ts'

export const validateObject = (
  structural: Structural,
  object: JsonObject,
  checks: Omit<customObject.ObjectChecks, 'budget'> = {},
): FieldError[] => errorsOf(customObject.validateObject(structural, object, { ...checks, budget: new Budget() }))

export const validateValue = (structural: Structural, value: Json, at: Ref<any>, old?: Json, isLarge?: boolean): FieldError[] =>
  errorsOf(validate.validateValue(structural, value, at, { budget: new Budget(), old, isLarge }))
