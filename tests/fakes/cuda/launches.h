// Runs the threads of a grid, for all kernels: one after the other, or as fibers where threads wait for one another. Then each warp runs for as
// long as it can, until all of its threads wait for the block: a barrier of a warp makes no thread of another one run. Warps, and the threads
// of each, take turns forwards and backwards.
#pragma once
#include <ucontext.h>

#include <cstddef>
#include <cstdlib>
#include <vector>

struct sim_uint3 { unsigned x, y, z; };
struct sim_place { sim_uint3 *thread, *block, *block_size, *grid_size; };  // the variables of the kernel's library

const size_t SIM_STACK = 32768;
const unsigned SIM_WARP = 32;
enum State { AT_WARP, AT_BLOCK, DONE };  // what a thread waits for
struct Fibers {  // the threads of a block, each with a stack, advanced in turns from one barrier to the next
    ucontext_t main;
    std::vector<ucontext_t> contexts;
    std::vector<std::vector<char>> stacks;
    std::vector<char> states;
    void (*call)(char *) = nullptr;
    char *pack = nullptr;
    unsigned current = 0;
    bool running = false;
};
static Fibers fibers;

API void sim_wait(sim_uint3 *thread, int for_block) {
    if (!fibers.running) return;
    const sim_uint3 own = *thread;
    fibers.states[fibers.current] = for_block ? AT_BLOCK : AT_WARP;
    swapcontext(&fibers.contexts[fibers.current], &fibers.main);
    *thread = own;
}

static void begin_fiber() {
    const unsigned self = fibers.current;
    fibers.call(fibers.pack);
    fibers.states[self] = DONE;
    swapcontext(&fibers.contexts[self], &fibers.main);
}

static sim_uint3 thread_of(unsigned k, const unsigned *block) { return {k % block[0], k / block[0] % block[1], k / (block[0] * block[1])}; }

// Runs a warp until its threads wait for the block, or are done; returns whether any waits.
static bool run_warp(unsigned begin, unsigned size, const unsigned *block, sim_uint3 *thread, bool backwards) {
    auto &f = fibers;
    for (;; backwards = !backwards) {
        bool at_warp = false, at_block = false;
        for (unsigned turn = 0; turn < size; ++turn) {
            const unsigned k = begin + (backwards ? size - 1 - turn : turn);
            if (f.states[k] == DONE) continue;
            f.current = k;
            *thread = thread_of(k, block);
            swapcontext(&f.main, &f.contexts[k]);
            at_warp |= f.states[k] == AT_WARP;
            at_block |= f.states[k] == AT_BLOCK;
        }
        if (at_warp && at_block) wrong = "threads of a warp wait at different barriers";
        if (at_block || !at_warp) return at_block;
    }
}

static void run_fibers(unsigned count, const unsigned *block, sim_uint3 *thread) {
    auto &f = fibers;
    f.contexts.assign(count, ucontext_t{});
    f.states.assign(count, AT_BLOCK);
    if (f.stacks.size() < count) f.stacks.resize(count, std::vector<char>(SIM_STACK));
    for (unsigned k = 0; k < count; ++k) {
        getcontext(&f.contexts[k]);
        f.contexts[k].uc_stack.ss_sp = f.stacks[k].data();
        f.contexts[k].uc_stack.ss_size = SIM_STACK;
        makecontext(&f.contexts[k], begin_fiber, 0);
    }
    f.running = true;
    bool backwards = false;
    for (bool waiting = true; waiting; backwards = !backwards) {
        waiting = false;
        const unsigned warps = (count + SIM_WARP - 1) / SIM_WARP;
        for (unsigned turn = 0; turn < warps; ++turn) {
            const unsigned begin = (backwards ? warps - 1 - turn : turn) * SIM_WARP, left = count - begin;
            waiting |= run_warp(begin, left < SIM_WARP ? left : SIM_WARP, block, thread, backwards);
        }
    }
    f.running = false;
}

API void *sim_keep(size_t size) { return malloc(size ? size : 1); }  // of a launch's arguments, until it has run

API void sim_run_grid(void (*call)(char *), char *pack, const unsigned *grid, const unsigned *block, int waits, sim_place place) {
    const unsigned count = block[0] * block[1] * block[2];
    *place.grid_size = {grid[0], grid[1], grid[2]};
    *place.block_size = {block[0], block[1], block[2]};
    fibers.call = call;
    fibers.pack = pack;
    for (unsigned z = 0; z < grid[2]; ++z)
        for (unsigned y = 0; y < grid[1]; ++y)
            for (unsigned x = 0; x < grid[0]; ++x) {
                *place.block = {x, y, z};
                if (waits) {
                    run_fibers(count, block, place.thread);
                    continue;
                }
                for (unsigned k = 0; k < count; ++k) {
                    *place.thread = thread_of(k, block);
                    call(pack);
                }
            }
}
