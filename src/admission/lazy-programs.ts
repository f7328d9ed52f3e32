/** Programs of stored expressions, made when a request first needs them: there can be thousands, and most concern few requests. */
import { type ExpressionProblem, isProblem } from '../cel/kubernetes/expression.ts'
import type { Program } from '../cel/runtime/program.ts'
import { Pace } from '../lib/pace.ts'
import { run, type Step } from '../lib/step.ts'

export type LazyProgram = () => Program | { readonly problem: string }

/** The programs of one policy or of the conditions of one webhook. */
export class LazyPrograms {
  #uncompiled: LazyProgram[] = []
  #preparing: Promise<void> | undefined

  /** A program that is made at its first use. */
  of(compile: () => Program | ExpressionProblem): LazyProgram {
    let made: ReturnType<LazyProgram> | undefined
    const program = () => {
      if (made === undefined) {
        const compiled = compile()
        made = isProblem(compiled) ? { problem: compiled.detail } : compiled
      }
      return made
    }
    this.#uncompiled.push(program)
    return program
  }

  /** Makes all of them, unless they are so few that it takes no noticeable time. Requests that need them wait for the same work. */
  *prepare(): Step<void> {
    if (this.#uncompiled.length <= FEW) return
    this.#preparing ??= (async () => run(this.#makeAll(), new Pace()))()
    yield this.#preparing
  }

  *#makeAll(): Step<void> {
    for (const program of this.#uncompiled) {
      program()
      yield
    }
    this.#uncompiled = []
    this.#preparing = undefined
  }
}

const FEW = 16

/** Units of a request's budget that an evaluation takes at least, the making of its program included. */
export const EVALUATION_WORK = 1000
