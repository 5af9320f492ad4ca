// Runs the threads of a grid, for all kernels: one after the other, or as fibers where the threads of a block wait for one another.
#pragma once
#include <ucontext.h>

#include <cstddef>
#include <cstdlib>
#include <vector>

struct sim_uint3 { unsigned x, y, z; };
struct sim_place { sim_uint3 *thread, *block, *block_size, *grid_size; };  // the variables of the kernel's library

const size_t SIM_STACK = 32768;
struct Fibers {  // the threads of a block, each with a stack, advanced in turns from one barrier to the next
    ucontext_t main;
    std::vector<ucontext_t> contexts;
    std::vector<std::vector<char>> stacks;
    std::vector<char> done;
    void (*call)(char *) = nullptr;
    char *pack = nullptr;
    unsigned current = 0;
    bool running = false;
};
static Fibers fibers;

API void sim_wait(sim_uint3 *thread) {
    if (!fibers.running) return;
    const sim_uint3 own = *thread;
    swapcontext(&fibers.contexts[fibers.current], &fibers.main);
    *thread = own;
}

static void begin_fiber() {
    const unsigned self = fibers.current;
    fibers.call(fibers.pack);
    fibers.done[self] = 1;
    swapcontext(&fibers.contexts[self], &fibers.main);
}

static sim_uint3 thread_of(unsigned k, const unsigned *block) { return {k % block[0], k / block[0] % block[1], k / (block[0] * block[1])}; }

static void run_fibers(unsigned count, const unsigned *block, sim_uint3 *thread) {
    auto &f = fibers;
    f.contexts.assign(count, ucontext_t{});
    f.done.assign(count, 0);
    if (f.stacks.size() < count) f.stacks.resize(count, std::vector<char>(SIM_STACK));
    for (unsigned k = 0; k < count; ++k) {
        getcontext(&f.contexts[k]);
        f.contexts[k].uc_stack.ss_sp = f.stacks[k].data();
        f.contexts[k].uc_stack.ss_size = SIM_STACK;
        makecontext(&f.contexts[k], begin_fiber, 0);
    }
    f.running = true;
    for (bool waiting = true; waiting;) {
        waiting = false;
        for (unsigned k = 0; k < count; ++k) {
            if (f.done[k]) continue;
            waiting = true;
            f.current = k;
            *thread = thread_of(k, block);
            swapcontext(&f.main, &f.contexts[k]);
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
