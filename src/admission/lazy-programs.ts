/** Programs of stored expressions, made when a request first needs them: there can be thousands, and most concern few requests. */
import { type ExpressionProblem, isProblem } from '../cel/kubernetes/expression.ts'
import type { Program } from '../cel/runtime/program.ts'
import { runYielding } from '../lib/yield.ts'

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

  /** Makes all of them, and lets other requests run in between. Undefined where they are made, or so few that it takes no noticeable time. */
  prepare(): Promise<void> | undefined {
    if (this.#uncompiled.length <= FEW) return undefined
    this.#preparing ??= runYielding(this.#making())
    return this.#preparing
  }

  *#making(): Generator<void, void> {
    for (const program of this.#uncompiled) {
      program()
      yield
    }
    this.#uncompiled = []
    this.#preparing = undefined
  }
}

const FEW = 16
