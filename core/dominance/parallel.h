#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/limits.h"

namespace misstep::dominance {

// Runs work(i) for i = 0..count-1 on several threads, while the calling thread checks the limits. The work must test `stop`
// now and then. An exception (of the work, or Ctrl-C in the poll callback) stops everything and is rethrown here.
class Crew {
   public:
    Crew(int threads, const Limits &limits) : threads_(threads), limits_(limits), start_(Clock::now()) {}

    std::atomic<bool> stop{false};
    bool out_of_time() const { return out_of_time_; }
    double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
    std::atomic<std::uint64_t> steps{0};  // shown as progress

    void run(int count, const std::function<void(int)> &work) {
        watch();
        if (stop || count == 0) return;
        std::atomic<int> next{0};
        std::exception_ptr failure;
        std::mutex mutex;
        std::condition_variable done;
        int running = 0;
        const auto loop = [&] {
            try {
                for (int i = next++; i < count && !stop; i = next++) work(i);
            } catch (...) {
                const std::lock_guard lock(mutex);
                failure = std::current_exception();
                stop = true;
            }
            const std::lock_guard lock(mutex);
            --running;
            done.notify_one();
        };
        std::vector<std::thread> crew;
        const int wanted = std::min(count, std::max(1, threads_));
        crew.reserve(wanted);
        running = wanted;
        try {
            while (static_cast<int>(crew.size()) < wanted) crew.emplace_back(loop);
        } catch (const std::system_error &) {
            // The system gives us no more threads. The result does not depend on their number.
            if (crew.empty()) throw;
            const std::lock_guard lock(mutex);
            running -= wanted - static_cast<int>(crew.size());
        }
        std::exception_ptr interruption;
        {
            std::unique_lock lock(mutex);
            while (running > 0) {
                done.wait_for(lock, std::chrono::milliseconds(20));
                if (running == 0 || stop) continue;
                lock.unlock();
                try {
                    watch();
                } catch (...) {
                    interruption = std::current_exception();
                    stop = true;
                }
                lock.lock();
            }
        }
        for (std::thread &thread : crew) thread.join();
        if (interruption) std::rethrow_exception(interruption);
        if (failure) std::rethrow_exception(failure);
    }

   private:
    using Clock = std::chrono::steady_clock;

    void watch() {
        const double now = seconds();
        if (now >= limits_.seconds) {
            out_of_time_ = true;
            stop = true;
        } else if (limits_.poll && now - last_poll_ >= 0.1) {
            last_poll_ = now;
            Progress progress;
            progress.expansions = steps;
            progress.seconds = now;
            if (!limits_.poll(progress)) {
                out_of_time_ = true;
                stop = true;
            }
        }
    }

    int threads_;
    const Limits &limits_;
    Clock::time_point start_;
    double last_poll_ = 0;
    bool out_of_time_ = false;
};

}  // namespace misstep::dominance
